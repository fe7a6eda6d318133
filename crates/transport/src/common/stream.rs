//! Reliable streams of bytes as an application sees them.

use std::ops::Range;

/// A reliable stream as an application sees it. Bytes are counted, not moved: a receiver reads ranges of stream
/// offsets, and the endpoint has verified that each lies where its sender put it.
pub trait ByteStream {
    /// Offers `bytes` more to send; returns how many the send buffer took.
    fn write(&mut self, bytes: u64) -> u64;
    /// What is offered next is a message of so many bytes: for protocols that know messages.
    fn begin_message(&mut self, _bytes: u64) {}
    /// What was written ends a message, however short: for protocols that know messages.
    fn end_message(&mut self) {}
    /// How much was written and not yet sent, where that is known; else 0.
    fn unsent(&self) -> u64 {
        0
    }
    /// Takes back what was written and not yet sent; returns how many bytes were written in all.
    fn discard_unsent(&mut self) -> u64;
    /// Takes everything that has arrived in order, as a range of stream offsets; `None` when there is nothing.
    fn read(&mut self) -> Option<Range<u64>>;
    /// Takes at most `limit` bytes of it.
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>>;
    /// Nothing more will be written.
    fn close(&mut self);
    /// Whether the connection is set up, so that data may flow.
    fn is_connected(&self) -> bool;
    /// Whether the peer has closed its side and everything it sent was read.
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

/// A connection with streams that an application opens itself, each of two ways, reliable and in order for itself. As a
/// [`ByteStream`] it is set up and closed.
pub trait Streams: ByteStream {
    /// Opens a stream; `None` while the peer allows no more.
    fn open_stream(&mut self) -> Option<u64>;
    /// Writes to a stream, whichever side opened it.
    fn write_stream(&mut self, id: u64, bytes: u64);
    /// Nothing more will be written to it.
    fn finish_stream(&mut self, id: u64);
    /// Lets it take turns of so many bytes, at least a packet's, with the others that have something to send, or wait until those
    /// opened before it have nothing. A library's turns may be its own.
    fn share_stream(&mut self, id: u64, turn: Option<u64>);
    /// A stream of which something has arrived since it was asked for.
    fn next_readable(&mut self) -> Option<u64>;
    /// Takes everything of it that has arrived in order, as a range of its offsets.
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
