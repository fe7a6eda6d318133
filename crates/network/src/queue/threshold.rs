use super::{Discipline, Drops, Fifo, Limit, Queued};
use vazao_engine::Time;

/// Step marking for data centres (Alizadeh et al., *Data Center TCP*, SIGCOMM 2010, section 3.1; RFC 8257): a packet that
/// arrives when K or more wait is marked. No average and no chance: the mark tells of the queue as it is.
///
/// What cannot be marked waits as in drop-tail.
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
