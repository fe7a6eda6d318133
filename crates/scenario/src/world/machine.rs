//! Storage of endpoints. The inner loop is made for TCP, which is stored in place; all others are behind a pointer.

use crate::endpoint::{Arrival, Contents, Departure, Endpoint};
use crate::measures::measure::FlowMeasure;
use crate::packs::tcp::Tcp;
use std::any::Any;
use std::ops::{Deref, DerefMut};
use vazao_application::Application;
use vazao_engine::{Duration, Time};
use vazao_transport::common::Limit;

/// Endpoint of a flow.
// Stored in place, as every event uses it.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Machine {
    Tcp(Tcp),
    Other(Box<dyn Endpoint>),
}

impl From<Box<dyn Endpoint>> for Machine {
    fn from(endpoint: Box<dyn Endpoint>) -> Machine {
        if !(&*endpoint as &dyn Any).is::<Tcp>() {
            return Machine::Other(endpoint);
        }
        let tcp: Box<dyn Any> = endpoint;
        Machine::Tcp(*tcp.downcast().expect("its type was asked for"))
    }
}

/// Calls a method of TCP's endpoint directly, of any other through its pointer.
macro_rules! dispatch {
    ($machine:ident.$method:ident($($argument:expr),*)) => {
        match $machine {
            Machine::Tcp(tcp) => tcp.$method($($argument),*),
            Machine::Other(end) => end.$method($($argument),*),
        }
    };
}

impl Machine {
    #[inline(always)]
    pub fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        dispatch!(self.handle(now, arrival))
    }
    #[inline]
    pub fn next_timeout(&self) -> Time {
        dispatch!(self.next_timeout())
    }
    #[inline(always)]
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        dispatch!(self.handle_timeout(now))
    }
    #[inline]
    pub fn drive(&mut self, now: Time, application: &mut Application) {
        dispatch!(self.drive(now, application))
    }
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        dispatch!(self.poll_transmit(now, contents))
    }
    /// Fetches what every event of TCP needs into the cache; of other endpoints nothing is known.
    pub fn fetch(&self) {
        if let Machine::Tcp(tcp) = self {
            tcp.connection.fetch();
        }
    }
    /// Fetches what TCP's pointers lead to.
    pub fn fetch_parts(&self) {
        if let Machine::Tcp(tcp) = self {
            tcp.connection.fetch_parts();
        }
    }
    /// Returns the smoothed round-trip time of its first path, if it has one.
    pub fn srtt(&self) -> Option<Duration> {
        match self {
            Machine::Tcp(tcp) => tcp.srtt(),
            Machine::Other(end) => {
                let mut srtt = None;
                end.with_state(&mut |sender| srtt = sender.path(0).srtt);
                srtt
            }
        }
    }
    #[inline(always)]
    pub fn limit(&self, now: Time) -> Option<Limit> {
        dispatch!(self.limit(now))
    }
    #[inline(always)]
    pub fn expiries(&self) -> u64 {
        dispatch!(self.expiries())
    }
    #[inline]
    pub fn is_over(&self) -> bool {
        dispatch!(self.is_over())
    }
    #[inline(always)]
    pub fn observe(&self, now: Time, measure: &mut FlowMeasure) {
        dispatch!(self.observe(now, measure))
    }
}

impl Deref for Machine {
    type Target = dyn Endpoint;

    fn deref(&self) -> &dyn Endpoint {
        match self {
            Machine::Tcp(tcp) => tcp,
            Machine::Other(end) => &**end,
        }
    }
}

impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut dyn Endpoint {
        match self {
            Machine::Tcp(tcp) => tcp,
            Machine::Other(end) => &mut **end,
        }
    }
}
