//! Ends ahead of the run: those that see nothing but the packets of one link and their own timers have them as soon as these
//! are known; see [`vazao_network::ahead`].

use crate::world::probe::{Moment, Probe};
use crate::world::{End, Flow, FlowEnd, Peer, Stopped, World};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use vazao_application::Application;
use vazao_engine::{Duration, EventScheduler, Slot, Time};
use vazao_network::{Fate, PacketId, Path};

/// State of a run whose ends may be ahead of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    /// Whether it may happen at all.
    is_possible: bool,
    /// Event that the run has come to: its time and slot.
    pub reached: (Time, Slot),
    /// Number of events below which a new estimate of the run's end comes too soon, and the least time until the next one.
    review: u64,
    pause: Duration,
}

/// Shortest time between two estimates of the end of a run that may come at any time.
const LEAST_PAUSE: Duration = Duration::from_micros(100);

/// Longest time by which an end is ahead of the run: what it has to say of that time is kept.
const LEAD: Duration = Duration::from_millis(100);

/// What a sender that is ahead of the run has to say of the time between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foresight {
    /// Acknowledgements that it has had: when each came, and the round-trip time that it knew before.
    acks: VecDeque<(Event, Option<Duration>)>,
    /// Packets of it that its first link has dropped.
    drops: VecDeque<(Event, Drop)>,
}

/// Event of a run: its time and slot.
type Event = (Time, Slot);

/// Packet that was dropped.
#[derive(Clone, Copy, Debug)]
struct Drop {
    sent: Time,
    /// Round-trip time that its sender knew.
    rtt: Option<Duration>,
    in_slow_start: bool,
}

impl<P: Probe> World<P> {
    /// Prepares to run ahead, if the probe can be shown ends one after the other: nobody's own code may take part in the run.
    pub fn look_ahead(&mut self) {
        if !self.probe.follows_ends() {
            return;
        }
        let mut paths = Vec::with_capacity(self.ends.len());
        for (index, end) in (0..).zip(&self.ends) {
            let Peer::Own(to) = end.peer else { return };
            let is_isolated = self.ends[to as usize].is_isolated();
            paths.extend(end.routes().iter().map(|&route| Path { route, from: index, to, is_isolated }));
        }
        self.network.look_ahead(&paths);
        self.ahead.is_possible = true;
    }

    /// Has the ends run ahead as far as they may before `limit`, at `now`. Returns when to ask again.
    #[cold]
    pub(super) fn extend_horizon(&mut self, now: Time, limit: Time) -> Time {
        if !self.ahead.is_possible {
            return limit;
        }
        let Some(lasts) = self.flows.iter().filter(|flow| !flow.ended).filter_map(|flow| self.lasts(flow, now)).max()
        else {
            self.ahead.is_possible = false;
            if P::ON {
                self.probe.on_reached(None);
            }
            return limit;
        };
        // At that time itself it may be over.
        let before = Time::from_nanos(lasts.as_nanos().saturating_sub(1));
        let horizon = before.min(now.saturating_add(LEAD)).min(limit);
        self.network.set_horizon(horizon);
        // The estimate looks at all flows: it must not take more time than it saves.
        let is_soon = self.events < self.ahead.review;
        self.ahead.pause = if is_soon { self.ahead.pause * 2 } else { LEAST_PAUSE };
        self.ahead.review = self.events + 64 + 4 * self.flows.len() as u64;
        horizon.max(now.saturating_add(self.ahead.pause)).min(limit)
    }

    /// Returns a time at which a flow, and the run with it, will not be over yet; `None`: that will never be known.
    fn lasts(&self, flow: &Flow, now: Time) -> Option<Time> {
        let [End::Machine(sender), End::Machine(receiver)] = [flow.sender(), flow.receiver()] else { return None };
        let [sender, receiver] = [sender, receiver].map(|index| &self.ends[index as usize]);
        let Application::Source(source) = &sender.application else { return None };
        let begins = now.max(flow.start);
        let left = source.remaining(sender.machine.unsent());
        let rate =
            sender.routes().iter().try_fold(0_u64, |sum, &way| Some(sum.saturating_add(self.network.slowest(way)?)));
        let sent = rate.map_or(begins, |rate| begins.saturating_add(time_of(left, rate)));
        let writes = source.writes_until(flow.start).min(self.end);
        // A connection may fail before.
        let stands = [sender, receiver].map(|end| end.machine.stands_until(begins)).into_iter().min().flatten();
        Some(sent.max(writes).min(stands?))
    }

    /// Returns whether the event that is being handled is one that the run has not come to.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.is_possible && self.now > self.ahead.reached.0
    }

    /// Tells the probe which event the following observations belong to, if ends may be ahead of the run.
    pub(super) fn tell_moment(&mut self) {
        if self.ahead.is_possible {
            self.probe.on_moment(self.moment((self.now, self.slot)));
        }
    }

    /// Tells the probe what the run has come to.
    pub(super) fn tell_reached(&mut self) {
        if self.ahead.is_possible {
            self.probe.on_reached(Some(self.moment(self.ahead.reached)));
        }
    }

    fn moment(&self, (time, slot): Event) -> Moment {
        (time, self.scheduler.place(slot, time))
    }

    /// Handles everything that ends may have ahead of the run.
    #[inline(never)]
    pub(super) fn run_ahead(&mut self, stop: &AtomicBool, clock: &dyn Fn(Time)) -> Result<(), Stopped> {
        while self.open > 0
            && let Some(link) = self.network.next_ready()
        {
            let (time, fate) = self.network.go_ahead(link, &mut self.scheduler);
            if let Fate::Delivered(id) = fate {
                self.prepare(self.network.packet(id).to as usize, time, link);
            }
            self.begin(time, link, stop, clock)?;
            self.handle_fate(fate);
        }
        Ok(())
    }

    /// Lets an end have a packet that will come at `time`.
    #[inline(always)]
    pub(super) fn foresee(&mut self, id: PacketId, time: Time) {
        let (now, slot, link) = (self.now, self.slot, self.network.link_of(id));
        self.prepare(self.network.packet(id).to as usize, time, link);
        (self.now, self.slot) = (time, link);
        self.handle_fate(Fate::Delivered(id));
        (self.now, self.slot) = (now, slot);
    }

    /// Prepares an end for a packet that comes ahead of the run, by `link`.
    #[inline(always)]
    fn prepare(&mut self, index: usize, time: Time, link: Slot) {
        if self.ends[index].due < time {
            self.act_before(index, time);
        }
        if self.ends[index].sends {
            self.remember(index, time, link);
        }
    }

    /// Has an end do by itself what it does before `time`.
    #[inline(never)]
    fn act_before(&mut self, index: usize, time: Time) {
        while self.ends[index].due < time {
            let FlowEnd { slot, due, .. } = self.ends[index];
            self.scheduler.cancel(slot);
            self.count(due, slot);
            self.wake(index);
        }
    }

    /// Keeps what a sender knows of its round-trip time before an acknowledgement that it has ahead of the run.
    fn remember(&mut self, index: usize, time: Time, slot: Slot) {
        let (end, (reached, _)) = (&self.ends[index], self.ahead.reached);
        let acks = &mut self.flows[end.flow as usize].foresight.get_or_insert_default().acks;
        while acks.front().is_some_and(|((time, _), _)| *time < reached) {
            acks.pop_front();
        }
        acks.push_back(((time, slot), end.machine.srtt()));
    }

    /// Returns whether an event comes before another one.
    fn precedes(&self, (time, slot): Event, (other_time, other): Event) -> bool {
        let place = |slot| self.scheduler.place(slot, time);
        time < other_time || time == other_time && place(slot) < place(other)
    }

    /// Counts a packet of a flow's sender that was dropped at the event that is being handled, in the order of events.
    pub(super) fn count_loss(&mut self, flow: usize, sent: Time) {
        let event = (self.now, self.slot);
        let rtt = self.rtt_at(event, &self.flows[flow]);
        let of = &mut self.flows[flow];
        let in_slow_start = sent < of.measure.slow_start_end;
        if self.ahead.is_possible && event != self.ahead.reached {
            let dropped = Drop { sent, rtt, in_slow_start };
            return of.foresight.get_or_insert_default().drops.push_back((event, dropped));
        }
        self.count_foreseen(flow, event);
        self.flows[flow].measure.on_drop(sent, rtt, in_slow_start);
    }

    /// Returns the round-trip time that the sender of a flow knew at an event.
    fn rtt_at(&self, event: Event, flow: &Flow) -> Option<Duration> {
        let End::Machine(sender) = flow.sender() else { return None };
        let later = flow.foresight.as_ref().and_then(|foresight| {
            let acks = &foresight.acks;
            acks.get(acks.partition_point(|(ack, _)| !self.precedes(event, *ack)))
        });
        match later {
            Some((_, before)) => *before,
            None => self.ends[sender as usize].machine.srtt(),
        }
    }

    /// Counts the packets of a flow's sender that were dropped ahead of the run before an event.
    fn count_foreseen(&mut self, flow: usize, event: Event) {
        let first = |flow: &Flow| flow.foresight.as_ref()?.drops.front().copied();
        while let Some((dropped, Drop { sent, rtt, in_slow_start })) = first(&self.flows[flow])
            && self.precedes(dropped, event)
        {
            let Flow { measure, foresight, .. } = &mut self.flows[flow];
            foresight.iter_mut().for_each(|foresight| _ = foresight.drops.pop_front());
            measure.on_drop(sent, rtt, in_slow_start);
        }
    }

    /// Counts what was dropped ahead of the run, which is over.
    pub(super) fn conclude_ahead(&mut self) {
        if P::ON {
            self.probe.on_reached(None);
        }
        (0..self.flows.len()).for_each(|flow| self.count_foreseen(flow, (Time::NEVER, 0)));
    }
}

impl FlowEnd {
    /// Returns whether nothing but its packets and timers has to do with what it does.
    fn is_isolated(&self) -> bool {
        !self.concerns_others && self.machine.is_isolated()
    }
}

/// Returns the time that bytes take at a rate in bits per second.
fn time_of(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
