//! Streams of a connection.

use super::*;

impl Connection {
    /// A stream is there from now on.
    pub(super) fn open(&mut self, id: u64) -> &mut Flow {
        let config = &self.config;
        let window = Window::new(config.stream_window, config.most_window);
        self.streams.entry(id).or_insert_with(|| Flow::new(config.stream_window, window))
    }

    /// A stream may have something to send.
    pub(super) fn stir(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !stream.queued && stream.out.is_pending(stream.peer_limit) {
            stream.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Takes what has arrived in order of a stream, at most `limit` bytes.
    pub(super) fn read_stream(&mut self, id: u64, limit: u64) -> Option<Range<u64>> {
        let stream = self.streams.get_mut(&id)?;
        let range = stream.inc.take(limit)?;
        self.data_read += range.end - range.start;
        self.retune(id);
        Some(range)
    }

    /// What was read may let the peer send more.
    fn retune(&mut self, id: u64) {
        let (now, rtt) = (self.heard_at(), self.recovery.rtt.srtt());
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.inc.fin.is_none()
            && stream.window.on_read(now, stream.inc.read, rtt).is_some()
            && !stream.tell
        {
            stream.tell = true;
            self.frames.push_back(Frame::MaxStreamData(id, 0));
        }
        if self.window.on_read(now, self.data_read, rtt).is_some() && !self.tell_window {
            self.tell_window = true;
            self.frames.push_back(Frame::MaxData(0));
        }
    }

    /// A frame as it is now: limits are told as they are when they are sent.
    pub(super) fn current(&mut self, frame: Frame) -> Frame {
        match frame {
            Frame::MaxData(_) => {
                self.tell_window = false;
                Frame::MaxData(self.window.limit)
            }
            Frame::MaxStreamData(id, _) => {
                let limit = self.streams.get_mut(&id).map_or(0, |stream| {
                    stream.tell = false;
                    stream.window.limit
                });
                Frame::MaxStreamData(id, limit)
            }
            other => other,
        }
    }

    /// Whether everything was said and heard on all streams.
    pub(super) fn is_settled(&self) -> bool {
        self.streams.values().all(|stream| stream.out.is_finished() && stream.inc.is_drained())
    }
}
