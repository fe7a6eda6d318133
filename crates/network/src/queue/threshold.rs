use super::{Constructor, Discipline, Drops, Fifo, LIMIT, Limit, Queued};
use vazao_engine::registry::{Entry, Kind, parameters};
use vazao_engine::{Capacity, Time};

parameters! {
    struct Settings {
        limit: Capacity = LIMIT;
        mark: Capacity = Kind::Capacity, "20 packets", "K: from so much on, arriving packets are marked";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "threshold",
    aliases: &["step"],
    title: "Step marking",
    source: "Alizadeh et al., SIGCOMM 2010, section 3.1 (DCTCP's K); RFC 8257",
    help: "marks what arrives while K or more wait, dropping only what does not fit: the switch that DCTCP wants",
    parameters: Settings::PARAMETERS,
    build: |p, setting| {
        let Settings { limit, mark } = p.into();
        Box::new(Threshold::new(setting.limits(limit).into(), setting.limits(mark)))
    },
};

/// Step marking for data centres (Alizadeh et al., *Data Center TCP*, SIGCOMM 2010, section 3.1; RFC 8257): a packet that
/// arrives when K or more wait is marked. No average and no chance: the mark tells of the queue as it is.
///
/// Packets that cannot be marked wait as in drop-tail.
#[derive(Debug)]
pub struct Threshold {
    queue: Fifo,
    limit: Limit,
    /// K, in packets and bytes.
    mark: (u32, u64),
}

impl Threshold {
    /// Marks from `mark` (packets, bytes) on.
    pub fn new(limit: Limit, mark: (u32, u64)) -> Self {
        Threshold { queue: Fifo::default(), limit, mark }
    }
}

impl Discipline for Threshold {
    fn enqueue(&mut self, _: Time, mut packet: Queued, drops: &mut Drops) {
        if !self.limit.admits(&packet, &self.queue) {
            return drops.full(packet);
        }
        if self.queue.packets() >= u64::from(self.mark.0) || self.queue.bytes() >= self.mark.1 {
            packet.mark();
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, _: Time, _: &mut Drops) -> Option<Queued> {
        self.queue.pop()
    }
}
