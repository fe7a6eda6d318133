//! The library's clock: its instants are virtual time, counted from an arbitrary moment.

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};
use vazao_engine::Time;

/// Returns the moment that stands for the beginning of a run. An `Instant` can only be had from the machine's clock. Which
/// one it is decides nothing, as only differences between instants are used.
#[allow(clippy::disallowed_methods)]
fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now)
}

/// Converts virtual time to the library's.
pub fn instant(time: Time) -> Instant {
    beginning() + Duration::from_nanos(time.as_nanos())
}

/// Converts the library's time to virtual time.
pub fn time(instant: Instant) -> Time {
    Time::from_nanos(instant.duration_since(beginning()).as_nanos() as u64)
}

/// Converts a duration of ours to the library's.
pub fn span(duration: vazao_engine::Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos())
}

/// Converts a duration of the library's to ours.
pub fn duration(span: Duration) -> vazao_engine::Duration {
    vazao_engine::Duration::from_nanos(span.as_nanos() as u64)
}

/// The date for tickets and tokens: it stands still, so that none expires.
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
