//! Duties of every queue, whatever it is for: one harness for all of the registry.

use crate::lab::queue;
use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};
use vazao_network::queue::{Drops, Queued};
use vazao_network::{Ecn, QUEUES};

/// One thing that happens to a queue, so many nanoseconds after the one before.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive { size: u32, flow: u32, ecn: Ecn },
    Depart,
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let arrive = (20u32..2_000, 0u32..6, 0u32..4).prop_map(|(size, flow, bits)| {
        // Nobody sends packets that are marked already.
        let ecn = if bits == 3 { Ecn::Ect0 } else { Ecn::from_bits(bits) };
        Op::Arrive { size, flow, ecn }
    });
    let gap = prop_oneof![Just(0u64), 1u64..2_000_000, 1_000_000u64..400_000_000];
    prop::collection::vec((gap, prop_oneof![3 => arrive, 2 => Just(Op::Depart)]), 1..400)
}

/// Every queue with settings that take it to all of its corners.
fn variants() -> Vec<(&'static str, Vec<(&'static str, Raw)>)> {
    let text = |name, value: &str| (name, Raw::Text(value.into()));
    let flag = |name, value| (name, Raw::Flag(value));
    let mut variants: Vec<_> = QUEUES.iter().map(|entry| (entry.name, Vec::new())).collect();
    variants.extend([
        ("red", vec![text("min", "2 packets"), flag("gentle", false), flag("ecn", false)]),
        ("red", vec![text("min", "3 kB"), text("max", "4 packets"), ("weight", Raw::Number(0.2))]),
        ("red", vec![flag("adaptive", true), ("weight", Raw::Number(1.0)), ("max_p", Raw::Number(1.0))]),
        ("codel", vec![text("target", "1 us"), text("interval", "1 ms"), flag("ecn", false)]),
        ("codel", vec![text("ce_threshold", "1 ms")]),
        ("fq-codel", vec![flag("exact", true), text("quantum", "300 B")]),
        ("fq-codel", vec![("flows", Raw::Number(2.0)), text("target", "1 us"), text("interval", "1 us")]),
        ("pie", vec![text("max_burst", "0 s"), text("update", "1 ms"), flag("derandomize", false)]),
        ("pie", vec![text("delay", "departure-rate"), flag("activation", true), text("max_burst", "0 s")]),
        ("threshold", vec![text("mark", "2 packets")]),
    ]);
    variants
}

/// Plays `ops` to a queue of at most `limit` packets and says what came of each, until nothing waits.
fn play(name: &str, changed: &[(&str, Raw)], limit: u32, ops: &[(u64, Op)]) -> Vec<(u32, &'static str, Ecn)> {
    let settings: Vec<_> = changed.iter().cloned().chain([("limit", Raw::Text(format!("{limit} packets")))]).collect();
    let mut queue = queue(10_000_000, name, &settings);
    let mut waiting: BTreeMap<u32, Queued> = BTreeMap::new();
    let mut log = Vec::new();
    let mut seen = 0;
    let mut drops = Drops::default();
    let (mut now, mut next) = (Time::ZERO, 0);
    let drain = (0..).map(|_| (1_000_000, Op::Depart));
    for (step, (gap, op)) in ops.iter().copied().chain(drain).enumerate() {
        now += Duration::from_nanos(gap);
        let departed = match op {
            Op::Arrive { size, flow, ecn } => {
                let packet = Queued { id: next, size, flow, ecn, arrival: now };
                next += 1;
                waiting.insert(packet.id, packet);
                queue.enqueue(now, packet, &mut drops);
                None
            }
            Op::Depart => queue.dequeue(now, &mut drops),
        };
        for id in &drops.packets()[seen..] {
            let packet = waiting.remove(id).unwrap_or_else(|| panic!("{name}: packet {id} dropped, and gone before"));
            log.push((packet.id, "dropped", packet.ecn));
        }
        seen = drops.packets().len();
        assert!(drops.early_count() <= seen as u64);
        if let Some(packet) = departed {
            let known = waiting.remove(&packet.id).unwrap_or_else(|| panic!("{name}: {} twice", packet.id));
            assert_eq!((packet.size, packet.flow, packet.arrival), (known.size, known.flow, known.arrival));
            // A mark is all that a queue may change, and only where the transport understands it.
            assert!(packet.ecn == known.ecn || (packet.ecn == Ecn::Ce && known.ecn != Ecn::NotEct));
            // Packets of a flow never overtake each other.
            assert!(waiting.values().all(|other| other.flow != packet.flow || other.id > packet.id), "{name}: order");
            log.push((packet.id, "sent", packet.ecn));
        } else if matches!(op, Op::Depart) {
            assert!(waiting.is_empty(), "{name}: nothing to send, and {} wait", waiting.len());
            if step >= ops.len() {
                break;
            }
        }
        assert!(waiting.len() <= limit.max(1) as usize, "{name}: {} wait, {limit} may", waiting.len());
    }
    assert_eq!(log.len(), next as usize);
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn every_packet_leaves_a_queue_once(ops in ops(), limit in prop_oneof![0u32..4, 5u32..60, Just(1_000)]) {
        for (name, changed) in variants() {
            let first = play(name, &changed, limit, &ops);
            prop_assert_eq!(first, play(name, &changed, limit, &ops), "{}: another run of the same seed", name);
        }
    }
}

/// Bytes limit a queue as packets do: 10 kB hold ten packets of 1000 B.
#[test]
fn every_queue_keeps_to_bytes_too() {
    for entry in QUEUES {
        let mut queue = queue(10_000_000, entry.name, &[("limit", Raw::Text("10 kB".into()))]);
        let mut drops = Drops::default();
        for id in 0..15 {
            let packet = Queued { id, size: 1000, flow: 0, ecn: Ecn::NotEct, arrival: Time::ZERO };
            queue.enqueue(Time::ZERO, packet, &mut drops);
        }
        let sent = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drops)).count();
        assert_eq!(sent + drops.packets().len(), 15, "{}", entry.name);
        // FQ-CoDel makes room for more than one packet at a time; the others refuse what does not fit.
        assert!(if entry.name == "fq-codel" { (1..=10).contains(&sent) } else { sent == 10 }, "{}: {sent}", entry.name);
    }
}

/// An idle link's queue passes a packet at once, whatever its limit is.
#[test]
fn what_finds_the_link_idle_passes() {
    for entry in QUEUES {
        let mut queue = queue(10_000_000, entry.name, &[("limit", Raw::Text("0 packets".into()))]);
        let mut drops = Drops::default();
        for n in 0..100u32 {
            let now = Time::from_nanos(u64::from(n) * 50_000_000);
            let packet = Queued { id: n, size: 1500, flow: 0, ecn: Ecn::NotEct, arrival: now };
            assert_eq!(queue.pass(now, packet, &mut drops), Some(packet), "{}", entry.name);
            assert_eq!(queue.dequeue(now + Duration::from_millis(1), &mut drops), None);
        }
        assert!(drops.packets().is_empty());
    }
}
