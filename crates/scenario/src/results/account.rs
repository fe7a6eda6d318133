//! Account of a flow, whatever stacks played its ends.

use crate::guests::ledger::Ledger;
use crate::measures::counts::{Counts, Tally};
use crate::measures::limits::Life;
use crate::measures::measure::FlowMeasure;
use crate::world::{End, Flow, FlowEnd, World};
use std::borrow::Cow;
use vazao_application::{Sides, Viewing};
use vazao_engine::{Histogram, Time};

/// Results of a flow.
#[derive(Clone)]
pub(crate) struct Account<'a> {
    /// Bytes that the receiving application has read.
    pub app_bytes: u64,
    pub first_byte: Option<Time>,
    pub last_byte: Option<Time>,
    /// Whether it completed; `None`: the flow has no end of its own.
    pub completed: Option<bool>,
    /// Whether its bytes are right; `None`: nobody has checked them.
    pub intact: Option<bool>,
    /// Time at which the client's connection was established.
    pub established: Option<Time>,
    pub sender: Counts<'a>,
    /// Counts of the receiver.
    pub arrivals: Tally,
    pub measure: Cow<'a, FlowMeasure>,
    /// Latencies of delivered messages, if there are any.
    pub messages: Option<&'a Histogram>,
    /// Reason for which an end gave up.
    pub failure: Option<String>,
    /// Life of its connection, if its sender accounts for it.
    pub life: Option<Life>,
    /// Number of connections, if its application chooses it.
    pub connections: Option<u64>,
    /// Quality of a video's viewing.
    pub viewing: Option<Viewing>,
}

/// Final state of a flow's two applications.
struct Ends {
    written: Option<u64>,
    closed: bool,
    in_order: bool,
    /// Whether each message was delivered or reported as abandoned; `None`: messages are never abandoned.
    accounted: Option<bool>,
}

impl<'a> Account<'a> {
    /// Returns the account of flow `number`, whose application was started as `sides`.
    pub fn of<P>(world: &'a World<P>, number: usize, sides: &Sides) -> Account<'a> {
        let flow = &world.flows[number];
        let ours = |end| match end {
            End::Machine(index) => Some(&world.ends[index as usize]),
            End::Guest(_) => None,
        };
        let (sender, receiver) = (ours(flow.sender()), ours(flow.receiver()));
        let ledger = if sender.is_none() || receiver.is_none() { Some(world.guests.ledger(number)) } else { None };
        let written = match sender {
            Some(sender) => sender.application.written(),
            None => ledger.and_then(|ledger| ledger.written),
        };
        let mut account = Account {
            app_bytes: 0,
            first_byte: None,
            last_byte: None,
            completed: None,
            intact: None,
            established: match ours(flow.ends[0]) {
                Some(client) => client.machine.ready(),
                None => ledger.and_then(|ledger| ledger.established),
            },
            sender: match (sender, ledger) {
                (Some(sender), _) => {
                    let is_over = sender.machine.is_over();
                    sender.machine.counts(if is_over { flow.measure.last_event } else { world.now })
                }
                (None, Some(ledger)) => ledger.counts(),
                (None, None) => unreachable!("a flow without a machine has a ledger"),
            },
            arrivals: match (receiver, ledger) {
                (Some(receiver), _) => receiver.machine.arrivals(flow.measure.lost),
                (None, ledger) => ledger.map(|ledger| ledger.arrivals(flow.measure.lost)).unwrap_or_default(),
            },
            messages: sender.zip(receiver).and_then(|(sender, receiver)| message_latency(sender, receiver)),
            measure: Cow::Borrowed(&flow.measure),
            failure: ledger.and_then(|ledger| ledger.failure.clone()),
            life: None,
            connections: None,
            viewing: None,
        };
        match (receiver, ledger) {
            (Some(receiver), _) => account.read_machine(sender, receiver, written),
            (None, Some(ledger)) => {
                account.read_guest(flow, ledger, written, world.guests.is_datagrams(number), sides.is_program());
            }
            (None, None) => unreachable!("a flow without a machine has a ledger"),
        }
        if sender.is_some_and(|sender| sender.machine.limit(world.now).is_some()) {
            account.life = Some(flow.measure.limits.until(flow.start, world.now));
        }
        // A failure after completion is none of the flow.
        if account.completed != Some(true) && account.failure.is_none() {
            account.failure = machine_failure(sender, receiver, flow);
        }
        if sides.is_endless() {
            account.completed = None;
        }
        account
    }

    /// Adds the results of one of our receivers.
    fn read_machine(&mut self, sender: Option<&FlowEnd>, receiver: &FlowEnd, written: Option<u64>) {
        let Some(sink) = receiver.application.sink() else {
            // A visit counts its bytes itself.
            self.intact = Some(receiver.machine.misplaced() == 0);
            return;
        };
        self.app_bytes = sink.received();
        (self.first_byte, self.last_byte) = (sink.first_byte(), sink.last_byte());
        let closed = sink.is_closed();
        let in_order = !sink.is_disordered() && receiver.machine.misplaced() == 0;
        let accounted = sender.and_then(|sender| receiver.machine.accounts_for(&*sender.machine));
        let ends = Ends { written, closed, in_order, accounted };
        if receiver.machine.is_reliable() { self.conclude(ends) } else { self.conclude_datagrams(ends) }
    }

    /// Adds the results of a guest's receiver.
    fn read_guest(&mut self, flow: &Flow, ledger: &Ledger, written: Option<u64>, is_datagrams: bool, program: bool) {
        self.app_bytes = ledger.received;
        (self.first_byte, self.last_byte) = (ledger.first, ledger.last);
        if program || is_datagrams {
            // The end of a datagram flow is no data, and programs do not report: the arrivals are what there is.
            (self.first_byte, self.last_byte) = ledger.arrived.unzip();
        }
        if program {
            self.app_bytes = ledger.delivered;
            // Programs end with the client's; a server often never ends.
            self.completed = Some(flow.over[0] && ledger.failure.is_none());
            return;
        }
        let ends = Ends { written, closed: ledger.closed, in_order: !ledger.wrong, accounted: None };
        if is_datagrams {
            return self.conclude_datagrams(ends);
        }
        self.conclude(ends);
    }

    /// Judges a datagram flow, which is complete when its end and any of its data arrived.
    fn conclude_datagrams(&mut self, ends: Ends) {
        let is_heard = self.app_bytes > 0 || ends.written == Some(0);
        self.completed = Some(ends.closed && ends.written.is_some() && is_heard);
        self.intact = Some(ends.in_order && ends.written.is_none_or(|written| self.app_bytes <= written));
    }

    /// Judges a reliable flow: every written byte is read once and in order, and no more.
    fn conclude(&mut self, Ends { written, closed, in_order, accounted }: Ends) {
        let all = accounted.map_or(written == Some(self.app_bytes), |accounted| accounted && written.is_some());
        self.completed = Some(closed && all);
        let none_more = written.is_none_or(|written| self.app_bytes <= written);
        // A sender that gave up has not reported how much it wrote.
        self.intact = Some(in_order && none_more && (!closed || written.is_none() || all));
    }

    /// Returns the rate for the fairness index: over the flow's own time if it completed, else over all its time, so that a
    /// starved or stalled flow counts as slow.
    pub fn share(&self, start: Time, end: Time) -> f64 {
        let over = if self.completed == Some(true) { self.last_byte.unwrap_or(end) } else { end };
        let span = over.since(start).as_secs();
        if span > 0.0 { 8.0 * self.app_bytes as f64 / span } else { 0.0 }
    }

    /// Returns the bits per second from the flow's start to its last byte.
    pub fn rate(&self, start: Time, bytes: u64) -> Option<f64> {
        let span = self.last_byte?.since(start).as_secs();
        (span > 0.0).then(|| 8.0 * bytes as f64 / span)
    }
}

/// Returns the failures of our ends, with their sides.
fn machine_failure(sender: Option<&FlowEnd>, receiver: Option<&FlowEnd>, flow: &Flow) -> Option<String> {
    let ends = if flow.client_sends { [sender, receiver] } else { [receiver, sender] };
    let said: Vec<String> = ["client", "server"]
        .iter()
        .zip(ends)
        .filter_map(|(side, end)| Some(format!("{side}: {}", end?.machine.failure()?)))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Returns the latencies of messages between two ends of ours, measured by the writing side or by the receiver.
fn message_latency<'a>(sender: &'a FlowEnd, receiver: &'a FlowEnd) -> Option<&'a Histogram> {
    let messages = sender.application.messages().or(receiver.application.messages())?;
    Some(receiver.machine.latency().unwrap_or(messages.latency()))
}
