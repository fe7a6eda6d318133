use super::{Constructor, Discipline, Drops, Fifo, Limit, Queued};
use vazao_engine::registry::{Entry, Kind, parameters};
use vazao_engine::{Capacity, Time};

parameters! {
    struct Settings {
        limit: Capacity = Kind::Capacity, "1000 packets",
            "what the link may hold in all: what waits, what is being sent, and what is still under way";
    }
}

pub(super) const ENTRY: Entry<Constructor> = Entry {
    name: "netem",
    aliases: &[],
    title: "One limit for queue and delay",
    source: "Linux's netem, whose packets are in its queue until their delay is over (netem_enqueue in sch_netem.c)",
    help: "first in, first out; packets that are delayed count too: a limit below one bandwidth-delay product bounds the rate",
    parameters: Settings::PARAMETERS,
    build: |p, setting| {
        Box::new(Netem { queue: Fifo::default(), limit: setting.limits(Settings::from(p).limit).into() })
    },
};

/// First in, first out. The link counts [everything that it holds](Discipline::holds); by itself a queue counts what waits.
#[derive(Clone, Debug)]
pub struct Netem {
    queue: Fifo,
    limit: Limit,
}

impl Discipline for Netem {
    fn enqueue(&mut self, _: Time, packet: Queued, drops: &mut Drops) {
        if self.limit.admits(&packet, &self.queue) {
            self.queue.push(packet);
        } else {
            drops.full(packet);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Drops) -> Option<Queued> {
        self.queue.pop()
    }

    fn holds(&self) -> Option<Limit> {
        Some(self.limit)
    }
}
