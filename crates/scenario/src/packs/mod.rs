//! Transport protocols: everything specific to one protocol is in its module.

mod dccp;
mod ends;
mod icmp;
pub(crate) mod library;
pub(crate) mod mptcp;
pub(crate) mod quic;
pub(crate) mod sctp;
pub(crate) mod tcp;
pub(crate) mod udp;

use crate::document::reader::Item;
use crate::measures::series::PathState;
use crate::model::protocol::Front;
use crate::model::scenario::Pack;
use crate::stacks;
use serde_json::{Value as Json, json};
use std::iter::repeat;
use vazao_engine::registry::{Entry, Parameter, Parameters};
use vazao_engine::{Duration, Time};
use vazao_transport::common::RttEstimator;

/// All transports.
pub const TRANSPORTS: &[Entry<Pack>] =
    &[tcp::ENTRY, udp::ENTRY, dccp::ENTRY, sctp::ENTRY, mptcp::ENTRY, quic::ENTRY, icmp::ENTRY];

/// Transport of a flow that is given none.
pub const DEFAULT: &Entry<Pack> = &tcp::ENTRY;

impl Pack {
    /// Returns whether it carries datagrams that are never sent again, whatever its settings are.
    fn is_datagrams(entry: &Entry<Pack>) -> bool {
        let optional: Vec<_> = entry.parameters.iter().copied().filter(|parameter| !parameter.required).collect();
        let service = (entry.build.service)(&Parameters::defaults(&optional));
        (service.is_datagrams || service.is_unreliable) && !service.echoes
    }

    /// Describes a transport for pages: the settings that they show first and those that they do not offer, the unit of its
    /// sequence numbers, and whether it carries datagrams.
    pub fn front_json(entry: &Entry<Pack>) -> Json {
        let Front { first, hidden, sequence, .. } = entry.build.front;
        let hidden: Vec<_> = hidden.iter().copied().chain(stacks::keys()).collect();
        json!({ "first": first, "hidden": hidden, "sequence": sequence, "datagrams": Pack::is_datagrams(entry) })
    }
}

/// Implements the methods of an endpoint that its connection, in a field, has too; `then` follows an expired timer.
macro_rules! forward {
    ($connection:tt $(, then $then:ident)?) => {
        fn next_timeout(&self) -> Time {
            self.$connection.next_timeout()
        }
        fn handle_timeout(&mut self, now: Time) -> bool {
            let is_due = self.$connection.next_timeout() <= now;
            if is_due {
                self.$connection.handle_timeout(now);
                $(self.$then(now);)?
            }
            is_due
        }
        fn is_over(&self) -> bool {
            self.$connection.is_over()
        }
        fn limit(&self, now: Time) -> Option<Limit> {
            Some(match self.ready() {
                Some(_) => self.$connection.limit(now),
                None if self.is_over() => Limit::Done,
                None => Limit::Handshake,
            })
        }
        fn expiries(&self) -> u64 {
            self.$connection.expiries()
        }
        fn failure(&self) -> Option<String> {
            self.$connection.failure().map(|failure| failure.to_string())
        }
        fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState)) {
            see(&self.$connection);
        }
        fn observe(&self, now: Time, measure: &mut FlowMeasure) {
            measure.on_sender_event(now, &self.$connection);
        }
    };
}
use forward;

/// Returns the default of a parameter that names an entry of a registry.
fn default_entry(parameters: &[Parameter], name: &str) -> Item {
    let parameter = parameters.iter().find(|parameter| parameter.name == name);
    Item::named(parameter.expect("a parameter of the protocol").default)
}

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;

/// Time averages of the windows of an endpoint's paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    paths: Vec<Mean>,
}

/// Time average of one window.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    since: Time,
    area: f64,
    value: u64,
}

impl Means {
    /// Records the window of a path `now`; the previous one held since the last call for that path.
    #[inline]
    pub fn watch(&mut self, now: Time, path: usize, window: u64) {
        if path >= self.paths.len() {
            self.paths.resize(path + 1, Mean::default());
        }
        let mean = &mut self.paths[path];
        if mean.value == window {
            return;
        }
        mean.area += mean.value as f64 * now.since(mean.since).as_nanos() as f64;
        (mean.since, mean.value) = (now, window);
    }

    /// Returns the average of each path from `start` to `end`; `None` for an empty span and for paths without records.
    pub fn over(&self, start: Time, end: Time) -> impl Iterator<Item = Option<f64>> {
        let span = end.since(start).as_nanos() as f64;
        let mean = move |mean: &Mean| {
            let tail = mean.value as f64 * end.since(mean.since).as_nanos() as f64;
            (span > 0.0).then(|| (mean.area + tail) / span)
        };
        self.paths.iter().map(mean).chain(repeat(None))
    }
}

/// Returns a round-trip time, unless none was measured.
fn measured(span: Duration) -> Option<Duration> {
    Some(span).filter(|&span| span > Duration::ZERO)
}

/// Returns the state of a path with a window and a round-trip time, which is all that most protocols have.
#[inline]
fn path_state(cwnd: u64, ssthresh: u64, rtt: &RttEstimator, flight: u64) -> PathState {
    PathState {
        cwnd,
        ssthresh: set(ssthresh),
        srtt: measured(rtt.srtt()),
        latest_rtt: measured(rtt.latest()),
        rto: Some(rtt.rto()),
        flight,
        ..PathState::default()
    }
}

/// Returns a slow-start threshold, unless none was set.
fn set(threshold: u64) -> Option<u64> {
    Some(threshold).filter(|&threshold| threshold < u64::MAX)
}
