use super::codel::{CE_THRESHOLD, CoDelState, INTERVAL, Rules, TARGET};
use super::device::{DEVICE, above_device};
use super::{Constructor, Discipline, Drops, ECN, Fifo, Limit, Queued, Setting};
use std::collections::{BTreeMap, VecDeque};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Capacity, Duration, Time};

parameters! {
    struct Settings {
        limit: Capacity = Kind::Capacity, "10240 packets",
            "what may wait in all queues together; the longest one makes room (RFC 8290, section 4.1)";
        flows: usize = Kind::Integer(1, 65_536), "1024", "queues, to which flows are hashed";
        exact: bool = Kind::Flag, "false", "a queue for each flow, so that no two share one; flows is not used";
        quantum: u64 = Kind::Size(1, u64::MAX), "1514 B", "bytes that a queue may send in its turn";
        target: Duration = TARGET;
        interval: Duration = INTERVAL;
        ce_threshold: Option<Duration> = CE_THRESHOLD;
        device: Option<Capacity> = DEVICE;
        ecn: bool = ECN;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "fq-codel",
    aliases: &["fq_codel"],
    title: "FQ-CoDel",
    source: "RFC 8290",
    help: "a queue for each flow, served in turn by bytes and new flows first, with CoDel on each of them",
    parameters: Settings::PARAMETERS,
    build: |p, setting| above_device(FqCoDel::from(p, setting), Settings::from(p).device, setting),
};

/// Number of packets that the longest queue drops at a time: finding it takes a look at each (section 4.1).
const BATCH: usize = 64;

/// List of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Idle,
    New,
    Old,
}

/// One of the queues.
#[derive(Clone, Debug)]
struct Flow {
    queue: Fifo,
    codel: CoDelState,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    list: List,
}

/// Flow queueing with CoDel (RFC 8290): deficit round robin over queues, of which those that were empty come first, so that
/// flows that send little hardly wait; each queue has a CoDel of its own, so that those that send much keep theirs short.
#[derive(Debug)]
pub struct FqCoDel {
    flows: Vec<Flow>,
    /// The queue of each flow, where each has its own; else they are hashed with a seed.
    exact: Option<BTreeMap<u32, usize>>,
    seed: u64,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    limit: Limit,
    packets: u64,
    bytes: u64,
    quantum: i64,
    codel: Rules,
}

impl FqCoDel {
    /// FQ-CoDel with the registry's parameters.
    pub fn from(p: &Parameters, setting: &Setting) -> Self {
        let Settings { limit, flows, exact, quantum, target, interval, ce_threshold, device: _, ecn } = p.into();
        let exact = exact.then(BTreeMap::new);
        let idle = Flow { queue: Fifo::default(), codel: CoDelState::default(), deficit: 0, list: List::Idle };
        let flows = if exact.is_some() { 0 } else { flows };
        FqCoDel {
            flows: vec![idle; flows],
            exact,
            seed: setting.stream.clone().bits(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            limit: setting.limits(limit).into(),
            packets: 0,
            bytes: 0,
            quantum: quantum as i64,
            codel: Rules { target, interval, ce_threshold, ecn, max_packet: 0 },
        }
    }

    /// Returns the queue of a flow.
    fn classify(&mut self, flow: u32) -> usize {
        let Some(exact) = &mut self.exact else {
            // SplitMix64's mixing of the flow's number and the seed, scaled to the number of queues.
            let mut x = self.seed ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^= x >> 31;
            return ((u128::from(x) * self.flows.len() as u128) >> 64) as usize;
        };
        *exact.entry(flow).or_insert_with(|| {
            let idle = Flow { queue: Fifo::default(), codel: CoDelState::default(), deficit: 0, list: List::Idle };
            self.flows.push(idle);
            self.flows.len() - 1
        })
    }

    /// Drops half of the longest queue from its head, as far as a batch goes.
    fn make_room(&mut self, drops: &mut Drops) {
        let Some(longest) = self.flows.iter_mut().max_by_key(|flow| flow.queue.bytes()) else { return };
        let half = longest.queue.bytes() / 2;
        for _ in 0..BATCH {
            let Some(packet) = longest.queue.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            drops.full(packet);
            if longest.queue.bytes() <= half {
                break;
            }
        }
    }
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, _: Time, packet: Queued, drops: &mut Drops) {
        self.codel.see(&packet);
        let index = self.classify(packet.flow);
        let flow = &mut self.flows[index];
        flow.queue.push(packet);
        if flow.list == List::Idle {
            flow.list = List::New;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        // As any active queue, it has room for one packet whatever its limit is.
        while self.packets > 1 && (self.packets > u64::from(self.limit.packets) || self.bytes > self.limit.bytes) {
            self.make_room(drops);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        loop {
            let (&index, from_new) = match self.new.front() {
                Some(index) => (index, true),
                None => (self.old.front()?, false),
            };
            let list = if from_new { &mut self.new } else { &mut self.old };
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                flow.list = List::Old;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = (flow.queue.packets(), flow.queue.bytes());
            let packet = flow.codel.dequeue(now, &mut flow.queue, &self.codel, drops);
            self.packets -= before.0 - flow.queue.packets();
            self.bytes -= before.1 - flow.queue.bytes();
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.size);
                return Some(packet);
            }
            // A new queue that is empty waits a round among the old: else a flow that sends just so much that its queue is
            // empty each time would always come first.
            list.pop_front();
            flow.list = if from_new { List::Old } else { List::Idle };
            if from_new {
                self.old.push_back(index);
            }
        }
    }
}
