use super::{Constructor, Discipline, Drops, ECN, Fifo, LIMIT, Limit, Queued};
use vazao_engine::registry::{Entry, Kind, Parameter, parameters};
use vazao_engine::{Capacity, Duration, Time};

/// The longest span that makes sense here.
const LONGEST: Duration = Duration::from_secs(100);

pub(super) const TARGET: Parameter = Parameter::shared(
    Kind::Duration(Duration::from_micros(1), LONGEST),
    "5 ms",
    "standing wait that is acceptable (RFC 8289, section 4.4)",
);
pub(super) const INTERVAL: Parameter = Parameter::shared(
    Kind::Duration(Duration::from_micros(1), LONGEST),
    "100 ms",
    "how long the wait must stay above target: a round-trip time of those that cross it (section 4.3)",
);
pub(super) const CE_THRESHOLD: Parameter = Parameter::shared(
    Kind::Duration(Duration::ZERO, LONGEST),
    "",
    "a wait above which every packet that can be is marked, as Linux's option of that name; without it none",
);

parameters! {
    struct Settings {
        limit: Capacity = LIMIT;
        target: Duration = TARGET;
        interval: Duration = INTERVAL;
        ce_threshold: Option<Duration> = CE_THRESHOLD;
        ecn: bool = ECN;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "codel",
    aliases: &[],
    title: "CoDel",
    source: "RFC 8289; Nichols, Jacobson, ACM Queue 10(5), 2012",
    help: "drops at the head while the wait has stayed above target for an interval, ever more often",
    parameters: Settings::PARAMETERS,
    build: |p, setting| {
        let Settings { limit, target, interval, ce_threshold, ecn } = p.into();
        let rules = Rules { target, interval, ce_threshold, ecn, max_packet: 0 };
        let limit = setting.limits(limit).into();
        Box::new(CoDel { queue: Fifo::default(), limit, rules, state: CoDelState::default() })
    },
};

/// Rules that all queues of a discipline share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub target: Duration,
    pub interval: Duration,
    pub ce_threshold: Option<Duration>,
    pub ecn: bool,
    /// The largest packet seen: with less than that waiting, nothing is dropped.
    pub max_packet: u32,
}

impl Rules {
    /// Takes note of an arriving packet.
    pub fn see(&mut self, packet: &Queued) {
        self.max_packet = self.max_packet.max(packet.size);
    }

    /// Returns when the next packet is due to be dropped: drops come closer by the root of their number, which makes
    /// the rate of a TCP that answers each fall linearly (RFC 8289, section 5.4).
    fn control_law(&self, from: Time, count: u32) -> Time {
        from + Duration::from_nanos((self.interval.as_nanos() as f64 / libm::sqrt(f64::from(count))) as u64)
    }
}

/// State of CoDel for one queue (RFC 8289, section 5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDelState {
    /// Time at which the wait will have been above target for an interval, if it is above.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since this dropping state began, and what they were when the last one began.
    count: u32,
    last_count: u32,
}

impl CoDelState {
    /// Takes the first packet, and says whether it may be dropped (section 5.6).
    fn take(&mut self, now: Time, queue: &mut Fifo, rules: &Rules) -> (Option<Queued>, bool) {
        let Some(packet) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if packet.sojourn(now) < rules.target || queue.bytes() <= u64::from(rules.max_packet) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above.get_or_insert(now + rules.interval);
        (Some(packet), now >= first_above)
    }

    /// Gives the next packet of a queue, after those that are dropped before it (section 5.5).
    pub fn dequeue(&mut self, now: Time, queue: &mut Fifo, rules: &Rules, drops: &mut Drops) -> Option<Queued> {
        let (mut packet, mut ok_to_drop) = self.take(now, queue, rules);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.hit(&mut packet, rules, drops) {
                    self.drop_next = rules.control_law(self.drop_next, self.count);
                    break;
                }
                (packet, ok_to_drop) = self.take(now, queue, rules);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = rules.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if !self.hit(&mut packet, rules, drops) {
                (packet, _) = self.take(now, queue, rules);
            }
            self.dropping = true;
            // Where dropping ended a short while ago, it goes on at the rate that it had reached.
            let delta = self.count.wrapping_sub(self.last_count);
            let recent = now < self.drop_next + Duration::from_nanos(16 * rules.interval.as_nanos());
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = rules.control_law(now, self.count);
            self.last_count = self.count;
        }
        let mut packet = packet?;
        if rules.ce_threshold.is_some_and(|threshold| packet.sojourn(now) > threshold) {
            packet.mark();
        }
        Some(packet)
    }

    /// Marks a packet and says so, or drops it.
    fn hit(&mut self, packet: &mut Option<Queued>, rules: &Rules, drops: &mut Drops) -> bool {
        let victim = packet.as_mut().expect("what may be dropped is there");
        if rules.ecn && victim.mark() {
            return true;
        }
        drops.early(*victim);
        *packet = None;
        false
    }
}

/// Controlled delay (RFC 8289): a queue that never falls below `target` for an `interval` is a standing one. Then the packet
/// at the head is dropped, and another one after each interval / sqrt(count), until the wait is below target.
#[derive(Debug)]
pub struct CoDel {
    queue: Fifo,
    limit: Limit,
    rules: Rules,
    state: CoDelState,
}

impl Discipline for CoDel {
    fn enqueue(&mut self, _: Time, packet: Queued, drops: &mut Drops) {
        self.rules.see(&packet);
        if self.limit.admits(&packet, &self.queue) {
            self.queue.push(packet);
        } else {
            drops.full(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        self.state.dequeue(now, &mut self.queue, &self.rules, drops)
    }
}
