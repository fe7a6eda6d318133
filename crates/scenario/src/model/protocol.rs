//! Parts of a protocol's description: what it takes out of a transport's table, refuses, controls and offers.

use super::multipath::MultipathSpec;
use super::plugin::Plugins;
use super::stack::Stacks;
use crate::document::reader::Item;
use vazao_engine::registry::Parameters;
use vazao_transport::common::SchedulerFactory;

/// Transport whose protocol and stacks have been read.
pub(crate) struct Reading<'a> {
    /// Whole transport, for errors that belong to no key alone.
    pub whole: &'a Item,
    pub stacks: Stacks,
    pub schedulers: &'a Plugins<SchedulerFactory>,
}

impl Reading<'_> {
    /// Returns whether a guest plays a side.
    pub fn has_guest(&self) -> bool {
        self.stacks.iter().any(|stack| stack.is_guest())
    }
}

/// Keys that a protocol takes out of a transport's table before its parameters are read.
#[derive(Default)]
pub(crate) struct Named {
    pub multipath: Option<MultipathSpec>,
    pub path_scheduler: Option<Item>,
}

/// Combination that is refused: the test for it, from the stacks and the parameters, and the error message.
#[derive(Debug)]
pub(crate) struct Rule {
    pub breaks: fn(Stacks, &Parameters) -> bool,
    pub problem: &'static str,
}

/// Parameter that has an effect only beside certain others; where it is written without them it is refused.
#[derive(Debug)]
pub(crate) struct Needs {
    pub key: &'static str,
    pub has_effect: fn(&Parameters) -> bool,
    pub problem: &'static str,
}

/// Congestion controls of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controls {
    /// No congestion control.
    None,
    /// Controls of the sender's stack, with the name of the default.
    OfStack(&'static str),
    /// Controls of the registry, with the name of the protocol's own as the default.
    Own(&'static str),
}

/// Facts about a protocol for pages that show its settings and its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// Settings that are shown before all others.
    pub first: &'static [&'static str],
    /// Settings that are left to the scenario's text, beside those of stacks.
    pub hidden: &'static [&'static str],
    /// Unit of sequence numbers; empty where packets or messages are counted.
    pub sequence: &'static str,
    /// Size on the wire from which a packet whose content cannot be read counts as full.
    pub full: u32,
}

impl Front {
    /// Creates the facts about a byte stream whose packets can be read.
    pub const fn new(first: &'static [&'static str]) -> Front {
        Front { first, hidden: &[], sequence: "B", full: 0 }
    }
}

/// Service of a transport, by which an application is accepted or refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Service {
    /// Datagrams without feedback.
    pub is_datagrams: bool,
    /// Data is spread over streams, or read out of order.
    pub mixes: bool,
    /// Each datagram is answered by one with the same data.
    pub echoes: bool,
    /// The only stream is unreliable.
    pub is_unreliable: bool,
    /// Data is cut into messages, whose size an application may choose.
    pub has_messages: bool,
    /// Requests must not overtake each other where it mixes.
    pub keeps_requests_apart: bool,
    /// Versions of HTTP that go over it, the usual one first.
    pub http: &'static [&'static str],
    /// Reason for which an answer may never come.
    pub gives_up: Option<&'static str>,
}
