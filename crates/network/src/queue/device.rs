use super::{Discipline, Drops, Fifo, Limit, Queued, Setting};
use vazao_engine::registry::{Kind, Parameter};
use vazao_engine::{Capacity, Time};

pub(super) const DEVICE: Parameter = Parameter::shared(
    Kind::Capacity,
    "",
    "what the device's own queue holds, first in, first out: the discipline keeps only what finds that full (a driver's \
     ring in Linux, a device queue in ns-3); without it none",
);

/// Puts the device's own queue, if there is one, between a discipline and its link.
pub(super) fn above_device(
    discipline: impl Discipline + 'static,
    device: Option<Capacity>,
    setting: &Setting,
) -> Box<dyn Discipline> {
    match device {
        Some(capacity) => {
            Box::new(Device { above: discipline, below: Fifo::default(), limit: setting.limits(capacity).into() })
        }
        None => Box::new(discipline),
    }
}

/// Two queues in series: a discipline, and the device's own queue below it, which stops the discipline while it is full
/// (Linux's and ns-3's traffic control). What waits below is out of the discipline's sight: a delay that it would act on
/// builds up there unseen.
#[derive(Debug)]
struct Device<D> {
    above: D,
    below: Fifo,
    limit: Limit,
}

impl<D: Discipline> Device<D> {
    /// Moves down what finds room.
    fn fill(&mut self, now: Time, drops: &mut Drops) {
        while self.below.packets() < u64::from(self.limit.packets) && self.below.bytes() < self.limit.bytes {
            let Some(packet) = self.above.dequeue(now, drops) else { break };
            self.below.push(packet);
        }
    }
}

impl<D: Discipline> Discipline for Device<D> {
    fn enqueue(&mut self, now: Time, packet: Queued, drops: &mut Drops) {
        self.above.enqueue(now, packet, drops);
        self.fill(now, drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        let next = self.below.pop();
        self.fill(now, drops);
        next
    }
}
