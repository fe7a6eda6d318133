//! The library's clock: its instants are virtual time, counted from a moment that means nothing.

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};
use vazao_engine::Time;

/// The moment that stands for the beginning of a run. An `Instant` can only be had from the machine's clock; as nothing
/// but differences between instants is ever looked at, which moment it was decides nothing.
#[allow(clippy::disallowed_methods)]
fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now)
}

/// Virtual time as the library wants it.
pub fn instant(time: Time) -> Instant {
    beginning() + Duration::from_nanos(time.as_nanos())
}

/// The library's time as ours.
pub fn time(instant: Instant) -> Time {
    Time::from_nanos(instant.duration_since(beginning()).as_nanos() as u64)
}

/// A span of ours as the library wants it.
pub fn span(duration: vazao_engine::Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos())
}

/// A span of the library's as ours.
pub fn duration(span: Duration) -> vazao_engine::Duration {
    vazao_engine::Duration::from_nanos(span.as_nanos() as u64)
}

/// The date, by which tickets and tokens age: it stands still, so that none does.
#[derive(Debug)]
pub struct Date;

impl TimeProvider for Date {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(SINCE_EPOCH))
    }
}

impl quinn_proto::TimeSource for Date {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + SINCE_EPOCH
    }
}

/// The first of January 2030.
const SINCE_EPOCH: Duration = Duration::from_secs(1_893_456_000);
