//! A scripted peer on its host: what comes to it is kept, and what it sends leaves at its time.

use crate::Seen;
use std::collections::{BTreeMap, VecDeque};
use vazao_engine::{Duration, Time};
use vazao_network::Host;

/// Between two packets of a peer's.
const APART: Duration = Duration::from_micros(50);

/// Packets under way to the stack.
#[derive(Debug, Default)]
pub(crate) struct Post {
    /// Packets under way by their arrival and their number.
    under_way: BTreeMap<(Time, u64), Vec<u8>>,
    number: u64,
    due: VecDeque<Vec<u8>>,
}

impl Post {
    /// A packet arrives at `at`, or somewhat later. Packets that come together are one to a kernel that collects what its card
    /// has (GRO): each has its own time.
    pub fn put(&mut self, mut at: Time, bytes: Vec<u8>) {
        while let Some(&(next, _)) = self.under_way.keys().find(|(time, _)| at < *time + APART && *time < at + APART) {
            at = next + APART;
        }
        self.number += 1;
        self.under_way.insert((at, self.number), bytes);
    }

    /// Returns the arrival of the first packet.
    pub fn next(&self) -> Time {
        self.under_way.keys().next().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Returns the arrival of the last packet, if there is one.
    pub fn last(&self) -> Option<Time> {
        self.under_way.keys().next_back().map(|&(at, _)| at)
    }

    /// Moves the clock: packets due by `now` can be taken.
    pub fn advance(&mut self, now: Time) {
        while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= now) {
            self.due.push_back(first.remove());
        }
    }

    /// Takes one that is due.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.due.pop_front()
    }
}

/// A peer's side of a connection.
pub(crate) trait Script {
    /// Returns the packets that it has sent.
    fn post(&self) -> &Post;

    /// Returns the packets that it has sent, to take from.
    fn post_mut(&mut self) -> &mut Post;

    /// Handles the arrival of an IP packet.
    fn on_arrival(&mut self, now: Time, packet: &[u8]);
}

/// The host of a script. What arrives is kept.
pub(crate) struct Scripted<S> {
    script: S,
    seen: Seen,
}

impl<S> Scripted<S> {
    pub fn new(script: S, seen: Seen) -> Scripted<S> {
        Scripted { script, seen }
    }
}

impl<S: Script> Host for Scripted<S> {
    fn next_timeout(&self) -> Time {
        self.script.post().next()
    }

    fn handle_timeout(&mut self, now: Time, _: Time) -> Result<Time, String> {
        self.script.post_mut().advance(now);
        Ok(now)
    }

    fn handle(&mut self, now: Time, _: usize, packet: &[u8]) -> Result<(), String> {
        self.seen.lock().expect("one reader").push((now, packet.to_vec()));
        self.script.on_arrival(now, packet);
        Ok(())
    }

    fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        self.script.post_mut().take().map(|packet| (0, packet))
    }

    fn poll_report(&mut self) -> Option<String> {
        None
    }
}
