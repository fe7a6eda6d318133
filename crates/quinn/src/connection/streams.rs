//! Bidirectional streams, which the application opens itself.

use super::Connection;
use crate::content::Content;
use quinn_proto::{Dir, StreamEvent, StreamId, VarInt};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use vazao_transport::Streams;
use vazao_wire::content;

/// The bidirectional streams of a connection, by their IDs.
#[derive(Default)]
pub(crate) struct Bidirectional {
    map: BTreeMap<u64, Bidi>,
    /// Streams with news for the application.
    news: BTreeSet<u64>,
}

/// A bidirectional stream.
#[derive(Default)]
struct Bidi {
    content: Content,
    /// Bytes that the application has written, and the part that the library has taken.
    written: u64,
    given: u64,
    closed: bool,
    finished: bool,
    /// Bytes that the application has read.
    read: u64,
}

impl Bidirectional {
    /// Returns the bytes that the library has taken.
    pub fn given(&self) -> u64 {
        self.map.values().map(|state| state.given).sum()
    }
}

fn identity(number: u64) -> StreamId {
    VarInt::from_u64(number).expect("the ID of a stream").into()
}

impl Connection {
    /// Handles an event of a bidirectional stream.
    pub(crate) fn handle_bidi_event(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some((_, connection)) = &mut self.connection
                    && let Some(id) = connection.streams().accept(Dir::Bi)
                {
                    self.bidi.map.insert(id.into(), Bidi::default());
                    self.bidi.news.insert(id.into());
                }
            }
            StreamEvent::Readable { id } if self.bidi.map.contains_key(&(*id).into()) => {
                self.bidi.news.insert((*id).into());
            }
            StreamEvent::Writable { id } => self.feed((*id).into()),
            _ => {}
        }
    }

    /// Passes a stream's pending data to the library, and its end.
    fn feed(&mut self, number: u64) {
        let (Some(state), Some((_, connection))) = (self.bidi.map.get_mut(&number), &mut self.connection) else {
            return;
        };
        let mut stream = connection.send_stream(identity(number));
        while state.given < state.written {
            let mut chunk = [state.content.at(state.given, state.written - state.given)];
            match stream.write_chunks(&mut chunk) {
                Ok(taken) => state.given += taken.bytes as u64,
                Err(_) => return,
            }
        }
        if state.closed && !state.finished {
            state.finished = stream.finish().is_ok();
        }
    }

    /// Opens all streams again after the server has rejected early data, with which the library forgets them. The order is the
    /// same, and so are the IDs.
    pub(crate) fn reopen_streams(&mut self) {
        let numbers: Vec<u64> = self.bidi.map.keys().copied().collect();
        for number in numbers {
            let Some((_, connection)) = &mut self.connection else { return };
            connection.streams().open(Dir::Bi);
            let state = self.bidi.map.get_mut(&number).expect("its ID is a key");
            (state.given, state.finished) = (0, false);
            self.feed(number);
        }
    }
}

impl Streams for Connection {
    fn open_stream(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        let number = connection.streams().open(Dir::Bi)?.into();
        self.bidi.map.insert(number, Bidi::default());
        Some(number)
    }

    fn write_stream(&mut self, id: u64, bytes: u64) {
        if let Some(state) = self.bidi.map.get_mut(&id) {
            state.written += bytes;
            self.feed(id);
        }
    }

    fn finish_stream(&mut self, id: u64) {
        if let Some(state) = self.bidi.map.get_mut(&id) {
            state.closed = true;
            self.feed(id);
        }
    }

    /// Streams of one priority take turns, packet by packet. Streams that do not take turns have a priority each, the first the
    /// highest.
    fn share_stream(&mut self, id: u64, turn: Option<u64>) {
        if let (None, Some((_, connection))) = (turn, &mut self.connection) {
            let priority = i32::try_from(id).map_or(i32::MIN, |id| -id);
            // A stream that is over needs none.
            let _ = connection.send_stream(identity(id)).set_priority(priority);
        }
    }

    fn next_readable(&mut self) -> Option<u64> {
        self.bidi.news.pop_first()
    }

    fn read_stream(&mut self, id: u64) -> Option<Range<u64>> {
        let state = self.bidi.map.get_mut(&id)?;
        let (_, connection) = self.connection.as_mut()?;
        let start = state.read;
        let mut stream = connection.recv_stream(identity(id));
        let mut chunks = stream.read(true).ok()?;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            let right = chunk.offset == state.read && content::verify(chunk.offset, &chunk.bytes);
            self.inc.misplaced += u64::from(!right);
            state.read += chunk.bytes.len() as u64;
        }
        // The next datagram will carry the new window.
        let _ = chunks.finalize();
        (state.read > start).then_some(start..state.read)
    }
}
