//! Application at one end of a connection.
#![allow(dead_code, reason = "each protocol's tests use a part of it")]

use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;

/// Behaviour of an application.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bytes to send before closing.
    pub sends: u64,
    /// Maximum bytes per write, one write each time the connection is examined.
    pub writes: u64,
    /// Maximum bytes per read.
    pub reads: u64,
    /// Milliseconds between reads; 0: whenever something arrives.
    pub every: u64,
    /// Whether it closes only after its peer.
    pub closes_second: bool,
    /// Whether it never closes.
    pub stays: bool,
}

impl Application {
    pub fn sends(bytes: u64) -> Application {
        Application { sends: bytes, writes: u64::MAX, reads: u64::MAX, every: 0, closes_second: false, stays: false }
    }
}

/// Running application.
#[derive(Clone, Debug)]
pub struct User {
    pub application: Application,
    next_read: Time,
    /// Whether there may be something to read.
    expects: bool,
    written: u64,
    pub received: u64,
    closed: bool,
}

impl User {
    pub fn new(application: Application) -> User {
        User { application, next_read: Time::ZERO, expects: true, written: 0, received: 0, closed: false }
    }

    /// Reads this many bytes every 5 ms from now on, or whatever arrives.
    pub fn reads_slowly(&mut self, bytes: Option<u64>) {
        (self.application.reads, self.application.every) = bytes.map_or((u64::MAX, 0), |bytes| (bytes, 5));
    }

    pub fn act(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.read(now, stream);
        if !stream.is_connected() || self.closed || self.application.stays && self.written == self.application.sends {
            return;
        }
        let offered = (self.application.sends - self.written).min(self.application.writes);
        self.written += stream.write(offered);
        let may_close = !self.application.stays && (!self.application.closes_second || stream.peer_closed());
        if self.written == self.application.sends && may_close {
            self.closed = true;
            stream.close();
        }
    }

    fn read(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.expects = now < self.next_read;
        if self.expects {
            return;
        }
        let all = self.application.every == 0;
        if !all {
            self.next_read = now + Duration::from_millis(self.application.every);
        }
        while let Some(range) = stream.read_at_most(self.application.reads) {
            assert_eq!(range.start, self.received, "every byte once and in order");
            self.received = range.end;
            self.expects = true;
            if !all {
                break;
            }
        }
    }

    /// Reads data that has arrived and outlives the connection, however slowly it reads.
    pub fn read_rest(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.reads_slowly(None);
        self.next_read = Time::ZERO;
        self.act(now, stream);
    }

    /// Time of the next read, if reads are timed and it is not `done`: after it found nothing, not before an event.
    pub fn next_read(&self, done: bool) -> Time {
        if self.application.every > 0 && self.expects && !done { self.next_read } else { Time::NEVER }
    }
}
