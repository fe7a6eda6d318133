//! What an application does at its end of a connection.
#![allow(dead_code, reason = "each protocol's tests use a part of it")]

use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;

/// What an application does.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bytes it sends before it closes.
    pub sends: u64,
    /// It writes at most so many at once, each time the connection is looked at.
    pub writes: u64,
    /// It reads at most so many bytes ...
    pub reads: u64,
    /// ... every so many milliseconds; 0: whenever something arrives.
    pub every: u64,
    /// Whether it closes only after its peer has.
    pub closes_second: bool,
    /// It never closes.
    pub stays: bool,
}

impl Application {
    pub fn sends(bytes: u64) -> Application {
        Application { sends: bytes, writes: u64::MAX, reads: u64::MAX, every: 0, closes_second: false, stays: false }
    }
}

/// An application at work.
#[derive(Clone, Debug)]
pub struct User {
    pub application: Application,
    next_read: Time,
    /// Whether there may be something to read by then.
    expects: bool,
    written: u64,
    pub received: u64,
    closed: bool,
}

impl User {
    pub fn new(application: Application) -> User {
        User { application, next_read: Time::ZERO, expects: true, written: 0, received: 0, closed: false }
    }

    /// It reads so many bytes each 5 ms from now on, or whatever arrives.
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

    /// Takes what has arrived and outlives the connection, however slowly it reads.
    pub fn read_rest(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.reads_slowly(None);
        self.next_read = Time::ZERO;
        self.act(now, stream);
    }

    /// When it reads next, if it does so by the clock and is not `done`: once it has found nothing, not before something
    /// has happened.
    pub fn next_read(&self, done: bool) -> Time {
        if self.application.every > 0 && self.expects && !done { self.next_read } else { Time::NEVER }
    }
}
