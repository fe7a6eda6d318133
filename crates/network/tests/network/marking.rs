//! Marks: who gets one, and that it stays.

use crate::lab::{Event, Lab};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, EventScheduler, Heap, Rate, Time};
use vazao_network::queue::{Drops, Queued};
use vazao_network::{Ecn, Fate, Network, Outgoing};

/// DCTCP's K: ten packets at once with K = 3. One is being sent, three wait; those that find three or more waiting are
/// marked, if they can be.
#[test]
fn a_packet_that_finds_k_waiting_is_marked() {
    for (ecn, marks) in [(Ecn::Ect0, 6), (Ecn::Ect1, 6), (Ecn::NotEct, 0), (Ecn::Ce, 0)] {
        let mut lab = Lab::queued(8_000_000, "threshold", &[("mark", Raw::Text("3 packets".into()))]);
        lab.ecn = ecn;
        (0..10).for_each(|_| lab.send(0, 1000));
        assert_eq!(lab.finish().len(), 10);
        let report = lab.network.report(0, Time::from_nanos(10_000_000));
        assert_eq!((report.marks, report.drops_queue, report.packets), (marks, 0, 10), "{ecn:?}");
        assert!(lab.log.iter().all(|event| matches!(event, Event::Arrived(..))));
    }
}

/// The threshold in bytes.
#[test]
fn k_may_be_in_bytes() {
    let mut lab = Lab::queued(8_000_000, "threshold", &[("mark", Raw::Text("2500 B".into()))]);
    lab.ecn = Ecn::Ect0;
    (0..10).for_each(|_| lab.send(0, 1000));
    lab.finish();
    assert_eq!(lab.network.report(0, Time::from_nanos(10_000_000)).marks, 6);
}

/// A mark is set on the way and read at its end, over links that know nothing of it; what was sent unmarked and met no
/// queue stays so, and a position in the table of routes is not taken for a codepoint.
#[test]
fn a_codepoint_crosses_a_network() {
    let (mut network, mut scheduler) = (Network::<u32>::with_links(0), Heap::default());
    let links: Vec<_> = (0..3)
        .map(|_| network.add_link(Rate::from_bps(8_000_000), Duration::ZERO, 0, (100, u64::MAX), &mut scheduler))
        .collect();
    network.set_discipline(1, Box::new(Marker), &mut scheduler);
    let (marked, plain) = (network.add_route(&links), network.add_route(&[links[0], links[2]]));
    for (route, sent, seen) in [
        (marked, Ecn::Ect0, Ecn::Ce),
        (marked, Ecn::Ect1, Ecn::Ce),
        (marked, Ecn::NotEct, Ecn::NotEct),
        (plain, Ecn::Ect1, Ecn::Ect1),
        (plain, Ecn::Ce, Ecn::Ce),
    ] {
        let packet = Outgoing { route, to: 0, size: 1000, ecn: sent, body: 7 };
        assert_eq!(network.send(Time::ZERO, packet, &mut scheduler), Fate::Moving);
        let got = loop {
            let (time, slot) = scheduler.pop().expect("it arrives");
            if let Fate::Delivered(id) = network.advance(time, slot, &mut scheduler) {
                break network.take(id);
            }
        };
        assert_eq!((got.ecn(), got.body), (seen, 7));
    }
    assert_eq!(network.report(1, Time::from_nanos(1)).marks, 2);
}

/// Marks everything that it can.
struct Marker;

impl vazao_network::queue::Discipline for Marker {
    fn enqueue(&mut self, _: Time, _: Queued, _: &mut Drops) {
        unreachable!("packets come one by one")
    }
    fn dequeue(&mut self, _: Time, _: &mut Drops) -> Option<Queued> {
        None
    }
    fn pass(&mut self, _: Time, mut packet: Queued, _: &mut Drops) -> Option<Queued> {
        packet.mark();
        Some(packet)
    }
}

/// A queue may drop several packets in one event, and others than the one that came: each is handed out once.
#[test]
fn a_queue_may_drop_others_than_the_one_that_came() {
    let mut lab = Lab::new(&[(8_000_000, 0, 0, (0, 0))]);
    lab.network.set_discipline(0, Box::new(Flusher::default()), &mut lab.scheduler);
    (0..6).for_each(|_| lab.send(0, 1000));
    lab.finish();
    // 0 is sent, 1 to 3 wait until 4 comes and throws them out; 4 and 5 follow.
    assert_eq!(lab.refused().into_iter().collect::<std::collections::BTreeSet<_>>(), [1, 2, 3].into());
    assert_eq!(lab.arrivals(), [1_000_000, 2_000_000, 3_000_000]);
    let report = lab.network.report(0, Time::from_nanos(3_000_000));
    assert_eq!((report.drops_queue, report.drops_early, report.packets), (3, 3, 3));
    assert_eq!(lab.network.queue_bytes(0, Time::from_nanos(3_000_000)), 0);
}

/// Throws all that waits out when a fourth packet comes.
#[derive(Default)]
struct Flusher(Vec<Queued>);

impl vazao_network::queue::Discipline for Flusher {
    fn enqueue(&mut self, _: Time, packet: Queued, drops: &mut Drops) {
        if self.0.len() == 3 {
            self.0.drain(..).for_each(|old| drops.early(old));
        }
        self.0.push(packet);
    }
    fn dequeue(&mut self, _: Time, _: &mut Drops) -> Option<Queued> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}
