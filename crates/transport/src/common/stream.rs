//! Reliable byte streams as an application sees them.

use std::ops::Range;

/// Reliable byte stream as an application sees it. Bytes are counted, not moved: a receiver reads ranges of stream
/// offsets, and the endpoint verifies that each lies where its sender put it.
pub trait ByteStream {
    /// Offers `bytes` more to send; returns how many the send buffer accepted.
    fn write(&mut self, bytes: u64) -> u64;
    /// Begins a message of `bytes`, for protocols that preserve message boundaries.
    fn begin_message(&mut self, _bytes: u64) {}
    /// Ends the message written so far, however short, for protocols that preserve message boundaries.
    fn end_message(&mut self) {}
    /// Bytes written and not yet sent, where known; otherwise 0.
    fn unsent(&self) -> u64 {
        0
    }
    /// Discards data written and not yet sent; returns the total bytes written.
    fn discard_unsent(&mut self) -> u64;
    /// Reads all in-order data, as a range of stream offsets; `None` if there is none.
    fn read(&mut self) -> Option<Range<u64>>;
    /// Reads at most `limit` bytes of in-order data.
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>>;
    /// Closes the sending side.
    fn close(&mut self);
    /// Whether the connection is established, so that data may flow.
    fn is_connected(&self) -> bool;
    /// Whether the peer has closed its side and all its data was read.
    fn peer_closed(&self) -> bool;
}

impl<S: ByteStream + ?Sized> ByteStream for Box<S> {
    fn write(&mut self, bytes: u64) -> u64 {
        (**self).write(bytes)
    }
    fn begin_message(&mut self, bytes: u64) {
        (**self).begin_message(bytes);
    }
    fn end_message(&mut self) {
        (**self).end_message();
    }
    fn unsent(&self) -> u64 {
        (**self).unsent()
    }
    fn discard_unsent(&mut self) -> u64 {
        (**self).discard_unsent()
    }
    fn read(&mut self) -> Option<Range<u64>> {
        (**self).read()
    }
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        (**self).read_at_most(limit)
    }
    fn close(&mut self) {
        (**self).close();
    }
    fn is_connected(&self) -> bool {
        (**self).is_connected()
    }
    fn peer_closed(&self) -> bool {
        (**self).peer_closed()
    }
}

/// Connection with bidirectional streams that the application opens itself, each reliable and ordered independently. As
/// a [`ByteStream`] it is set up and closed.
pub trait Streams: ByteStream {
    /// Opens a stream; `None` while the peer's limit is reached.
    fn open_stream(&mut self) -> Option<u64>;
    /// Writes to a stream, whichever side opened it.
    fn write_stream(&mut self, id: u64, bytes: u64);
    /// Closes the sending side of a stream.
    fn finish_stream(&mut self, id: u64);
    /// Schedules a stream: round-robin with `turn` bytes per turn (at least a packet), or, with `None`, after all
    /// streams opened before it. A library may have turns of its own.
    fn share_stream(&mut self, id: u64, turn: Option<u64>);
    /// Next stream with data that arrived since it was last returned.
    fn next_readable(&mut self) -> Option<u64>;
    /// Reads all in-order data of a stream, as a range of its offsets.
    fn read_stream(&mut self, id: u64) -> Option<Range<u64>>;
}

impl<S: Streams + ?Sized> Streams for Box<S> {
    fn open_stream(&mut self) -> Option<u64> {
        (**self).open_stream()
    }
    fn write_stream(&mut self, id: u64, bytes: u64) {
        (**self).write_stream(id, bytes);
    }
    fn finish_stream(&mut self, id: u64) {
        (**self).finish_stream(id);
    }
    fn share_stream(&mut self, id: u64, turn: Option<u64>) {
        (**self).share_stream(id, turn);
    }
    fn next_readable(&mut self) -> Option<u64> {
        (**self).next_readable()
    }
    fn read_stream(&mut self, id: u64) -> Option<Range<u64>> {
        (**self).read_stream(id)
    }
}
