//! Part of a run that is measured by itself: what had come and been sent when it began, and when it ended.

use crate::model::scenario::Window;
use crate::world::{End, World};
use vazao_application::Sink;
use vazao_engine::Time;

/// Totals at a time of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    time: Time,
    /// Bytes that each flow's receiving application has read.
    received: Vec<u64>,
    /// Bits that each direction of a link has sent, and that it could have sent.
    sent: Vec<(f64, f64)>,
}

/// Totals of the whole run at the beginning and the end of a [`Window`], as far as it is there.
#[derive(Clone, Debug)]
pub(crate) struct Windowed {
    marks: [Time; 2],
    totals: Vec<Totals>,
}

impl Windowed {
    pub fn new(window: Window) -> Windowed {
        Windowed { marks: [window.from, window.to.unwrap_or(Time::NEVER)], totals: Vec::new() }
    }

    /// Returns the time at which totals are wanted next.
    pub fn next(&self) -> Time {
        self.marks.get(self.totals.len()).copied().unwrap_or(Time::NEVER)
    }

    fn ends(&self) -> Option<[&Totals; 2]> {
        match &self.totals[..] {
            [begin, end] if end.time > begin.time => Some([begin, end]),
            _ => None,
        }
    }

    /// Returns the length of the window in seconds; `None`: the run ended before it began.
    pub fn seconds(&self) -> Option<f64> {
        self.ends().map(|[begin, end]| end.time.since(begin.time).as_secs())
    }

    /// Returns the bytes that a flow's application has read in the window.
    pub fn bytes(&self, flow: usize) -> Option<u64> {
        self.ends().map(|[begin, end]| end.received[flow] - begin.received[flow])
    }

    /// Returns the part of the window in which a direction of a link was busy.
    pub fn utilisation(&self, link: usize) -> Option<f64> {
        let [begin, end] = self.ends()?;
        let (bits, capacity) = (end.sent[link].0 - begin.sent[link].0, end.sent[link].1 - begin.sent[link].1);
        Some(if capacity > 0.0 { (bits / capacity).clamp(0.0, 1.0) } else { 0.0 })
    }
}

impl<P> World<P> {
    /// Returns the time from which totals are wanted before anything else happens.
    #[inline]
    pub fn next_total(&self) -> Time {
        self.window.as_ref().map_or(Time::NEVER, Windowed::next)
    }

    /// Takes the totals that are due before an event at `time`: those at the instant of an event come after it.
    #[cold]
    pub fn total_before(&mut self, time: Time) {
        while self.next_total() < time {
            let totals = self.totals(self.next_total());
            self.window.iter_mut().for_each(|window| window.totals.push(totals.clone()));
        }
    }

    /// Returns the window with its totals, those at its end as they are now if it is not over yet.
    pub fn windowed(&mut self) -> Option<Windowed> {
        let mut window = self.window.clone()?;
        while window.totals.len() < window.marks.len() && window.marks[0] < self.now {
            window.totals.push(self.totals(window.next().min(self.now)));
        }
        Some(window)
    }

    fn totals(&mut self, time: Time) -> Totals {
        let received = (0..self.flows.len()).map(|flow| self.received(flow)).collect();
        let network = &mut self.network;
        let reports = (0..network.links()).map(|link| network.report(link, time));
        let sent = reports.map(|report| (report.sent_bits, report.capacity_bits)).collect();
        Totals { time, received, sent }
    }

    /// Returns the bytes that a flow's receiving application has read; of a connection of a visit, those of all of it.
    fn received(&self, flow: usize) -> u64 {
        if let Some(visit) = self.visit_of(flow) {
            return visit.delivered();
        }
        match self.flows[flow].receiver() {
            End::Machine(index) => self.ends[index as usize].application.sink().map_or(0, Sink::received),
            End::Guest(_) => {
                let ledger = self.guests.ledger(flow);
                // Programs do not report what they read.
                if ledger.received > 0 { ledger.received } else { ledger.delivered }
            }
        }
    }
}
