//! Flows over one bottleneck, packet by packet, where an answer takes a round trip to show.

use super::{CLOCKS_APART, MSS, Path};
use std::collections::VecDeque;
use vazao_congestion::{Ack, Congestion, CongestionControl, Signal};
use vazao_engine::{Duration, Time};

/// Some flows and the path that they share.
pub struct Network {
    path: Path,
    pub senders: Vec<Sender>,
    /// Seconds since the start.
    pub now: f64,
    /// When the bottleneck has sent all it holds.
    free: f64,
    /// The part of all packets that is lost at random, the part of those that come to a full queue (and in proportion
    /// where it is not), and the state of the chance.
    loss: f64,
    early: f64,
    chance: u64,
    /// Packets since the last reset: how many, how long they waited together, and how many found nothing waiting.
    pub packets: u64,
    pub waited: f64,
}

/// One flow. Every packet is acknowledged on its own; what is lost counts as repaired.
pub struct Sender {
    pub control: Box<dyn CongestionControl>,
    flight: VecDeque<Packet>,
    /// Pacing lets the next packet out.
    release: f64,
    sent: u64,
    /// Packets delivered.
    pub acked: u64,
    /// Losses seen, at most one a round trip.
    pub losses: u64,
    round_end: u64,
    /// Packets up to here were sent before the last loss was seen.
    recover: u64,
    pub srtt: Duration,
    min_rtt: Duration,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    at: f64,
    waited: f64,
    /// When it is acknowledged, or found to be lost.
    back: f64,
    lost: bool,
}

fn nanos(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9) as u64)
}

impl Sender {
    fn new(control: Box<dyn CongestionControl>) -> Self {
        Sender {
            control,
            flight: VecDeque::new(),
            release: 0.0,
            sent: 0,
            acked: 0,
            losses: 0,
            round_end: 0,
            recover: 0,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
        }
    }

    /// When it does something next, if nothing happens before.
    fn next(&self, now: f64) -> f64 {
        let back = self.flight.front().map_or(f64::INFINITY, |packet| packet.back);
        if self.may_send() { back.min(self.release.max(now)) } else { back }
    }

    fn may_send(&self) -> bool {
        (self.flight.len() as u64 + 1) * MSS <= self.control.cwnd().max(MSS)
    }

    fn acknowledge(&mut self, path: Path) {
        let packet = self.flight.pop_front().expect("it was the next to come back");
        let flight = (self.flight.len() as u64 + 1) * MSS;
        let now = nanos(packet.back);
        if packet.lost {
            if packet.number >= self.recover {
                self.losses += 1;
                self.recover = self.sent;
                let (srtt, min_rtt) = (self.srtt, self.min_rtt);
                self.control.on_congestion(&Congestion { now, signal: Signal::Loss, flight, srtt, min_rtt });
            }
            return;
        }
        let rtt = Duration::from_secs_f64(packet.back - packet.at);
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt == Duration::ZERO { rtt } else { (self.srtt * 7 + rtt) / 8 };
        self.acked += 1;
        let round = packet.number >= self.round_end;
        if round {
            self.round_end = self.sent;
        }
        self.control.on_ack(&Ack {
            now,
            acked: MSS,
            delivered: MSS,
            flight,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            round,
            window_limited: true,
            in_recovery: packet.number < self.recover,
            one_way: Some(((path.base_rtt / 2.0 + packet.waited) * 1e9) as i64 + CLOCKS_APART),
            ..Ack::default()
        });
    }
}

impl Network {
    pub fn new(path: Path, controls: Vec<Box<dyn CongestionControl>>) -> Self {
        let senders = controls.into_iter().map(Sender::new).collect();
        Network { path, senders, now: 0.0, free: 0.0, loss: 0.0, early: 0.0, chance: 1, packets: 0, waited: 0.0 }
    }

    /// Adds losses of a part of all packets at random.
    pub fn losing(self, loss: f64, seed: u64) -> Self {
        Network { loss, chance: seed, ..self }
    }

    /// Adds losses at random, in proportion to the queue that they find up to `most` of all at a full one.
    pub fn dropping_early(self, most: f64, seed: u64) -> Self {
        Network { early: most, chance: seed, ..self }
    }

    /// Whether chance takes the next packet, which waits so long (splitmix64).
    fn is_unlucky(&mut self, waited: f64) -> bool {
        let likely = self.loss + self.early * waited * self.path.rate / self.path.buffer;
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) as f64) < likely * u64::MAX as f64
    }

    /// Segments that wait now.
    pub fn queue(&self) -> f64 {
        (self.free - self.now).max(0.0) * self.path.rate
    }

    /// When something happens next, and to which flow.
    pub fn next(&self) -> (f64, usize) {
        let times = self.senders.iter().map(|sender| sender.next(self.now));
        let (who, at) = times.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are flows");
        assert!(at.is_finite(), "nothing is in flight and nothing may be sent");
        (at, who)
    }

    /// Handles the next event.
    pub fn step(&mut self) {
        let (at, who) = self.next();
        self.now = at;
        let path = self.path;
        let sender = &mut self.senders[who];
        if sender.flight.front().is_some_and(|packet| packet.back <= at) {
            sender.acknowledge(path);
            return;
        }
        let waited = (self.free - at).max(0.0);
        let lost = waited * path.rate > path.buffer || self.is_unlucky(waited);
        if !lost {
            self.free = self.free.max(at) + 1.0 / path.rate;
            self.packets += 1;
            self.waited += waited;
        }
        let back = at + waited + 1.0 / path.rate + path.base_rtt;
        let sender = &mut self.senders[who];
        sender.flight.push_back(Packet { number: sender.sent, at, waited, back, lost });
        sender.sent += 1;
        let interval = sender.control.pacing_rate().map_or(0.0, |rate| 8.0 * MSS as f64 / rate.as_bps() as f64);
        sender.release = at + interval;
    }

    pub fn until(&mut self, seconds: f64) {
        while self.now < seconds {
            self.step();
        }
    }

    /// The part of the path that each flow uses between two times; the means of the queue are those of that time.
    pub fn shares(&mut self, from: f64, to: f64) -> Vec<f64> {
        self.until(from);
        (self.packets, self.waited) = (0, 0.0);
        let before: Vec<u64> = self.senders.iter().map(|sender| sender.acked).collect();
        self.until(to);
        let used = |(sender, before): (&Sender, u64)| (sender.acked - before) as f64 / (to - from) / self.path.rate;
        self.senders.iter().zip(before).map(used).collect()
    }

    /// The mean number of segments that a packet found waiting.
    pub fn mean_queue(&self) -> f64 {
        self.waited / self.packets as f64 * self.path.rate
    }
}
