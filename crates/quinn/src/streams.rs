//! Streams of two ways that an application opens itself.

use crate::connection::Connection;
use crate::content::Content;
use quinn_proto::{Dir, StreamEvent, StreamId, VarInt};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use vazao_transport::Streams;
use vazao_wire::content;

/// All that there are, by their numbers.
#[derive(Default)]
pub(crate) struct Lanes {
    map: BTreeMap<u64, Lane>,
    /// Those of which something has arrived since they were asked for.
    heard: BTreeSet<u64>,
}

/// One of them.
#[derive(Default)]
struct Lane {
    content: Content,
    /// Bytes that the application wants written, and of those the ones that the library has taken.
    written: u64,
    given: u64,
    closed: bool,
    finished: bool,
    /// Bytes that the application has read.
    read: u64,
}

impl Lanes {
    /// Bytes that the library was given.
    pub fn given(&self) -> u64 {
        self.map.values().map(|lane| lane.given).sum()
    }
}

fn identity(number: u64) -> StreamId {
    VarInt::from_u64(number).expect("a stream's number was one").into()
}

impl Connection {
    /// Heeds what the library says of a stream of these.
    pub(crate) fn heed_lane(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some((_, connection)) = &mut self.connection
                    && let Some(id) = connection.streams().accept(Dir::Bi)
                {
                    self.lanes.map.insert(id.into(), Lane::default());
                    self.lanes.heard.insert(id.into());
                }
            }
            StreamEvent::Readable { id } if self.lanes.map.contains_key(&(*id).into()) => {
                self.lanes.heard.insert((*id).into());
            }
            StreamEvent::Writable { id } => self.feed((*id).into()),
            _ => {}
        }
    }

    /// Gives the library what it has not taken of a stream, and the end if that has come.
    fn feed(&mut self, number: u64) {
        let (Some(lane), Some((_, connection))) = (self.lanes.map.get_mut(&number), &mut self.connection) else {
            return;
        };
        let mut stream = connection.send_stream(identity(number));
        while lane.given < lane.written {
            let mut chunk = [lane.content.at(lane.given, lane.written - lane.given)];
            match stream.write_chunks(&mut chunk) {
                Ok(taken) => lane.given += taken.bytes as u64,
                Err(_) => return,
            }
        }
        if lane.closed && !lane.finished {
            lane.finished = stream.finish().is_ok();
        }
    }

    /// The server has refused early data, so that the library has forgotten its streams: they are opened again, in the same
    /// order and so with the same numbers.
    pub(crate) fn reopen_lanes(&mut self) {
        let numbers: Vec<u64> = self.lanes.map.keys().copied().collect();
        for number in numbers {
            let Some((_, connection)) = &mut self.connection else { return };
            connection.streams().open(Dir::Bi);
            let lane = self.lanes.map.get_mut(&number).expect("it is there");
            (lane.given, lane.finished) = (0, false);
            self.feed(number);
        }
    }
}

impl Streams for Connection {
    fn open_stream(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        let number = connection.streams().open(Dir::Bi)?.into();
        self.lanes.map.insert(number, Lane::default());
        Some(number)
    }

    fn write_stream(&mut self, id: u64, bytes: u64) {
        if let Some(lane) = self.lanes.map.get_mut(&id) {
            lane.written += bytes;
            self.feed(id);
        }
    }

    fn finish_stream(&mut self, id: u64) {
        if let Some(lane) = self.lanes.map.get_mut(&id) {
            lane.closed = true;
            self.feed(id);
        }
    }

    /// Streams of one priority take turns, packet by packet; those that do not have one each, the first the highest.
    fn share_stream(&mut self, id: u64, turn: Option<u64>) {
        if let (None, Some((_, connection))) = (turn, &mut self.connection) {
            let priority = i32::try_from(id).map_or(i32::MIN, |id| -id);
            // One that is over needs none.
            let _ = connection.send_stream(identity(id)).set_priority(priority);
        }
    }

    fn next_readable(&mut self) -> Option<u64> {
        self.lanes.heard.pop_first()
    }

    fn read_stream(&mut self, id: u64) -> Option<Range<u64>> {
        let lane = self.lanes.map.get_mut(&id)?;
        let (_, connection) = self.connection.as_mut()?;
        let start = lane.read;
        let mut stream = connection.recv_stream(identity(id));
        let mut chunks = stream.read(true).ok()?;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            let right = chunk.offset == lane.read && content::verify(chunk.offset, &chunk.bytes);
            self.inc.misplaced += u64::from(!right);
            lane.read += chunk.bytes.len() as u64;
        }
        // That its window has moved is told with the next datagram.
        let _ = chunks.finalize();
        (lane.read > start).then_some(start..lane.read)
    }
}
