//! The event order.
//!
//! Everything that can be pending (a link's next delivery, a timer, an application) owns one *slot*, and the scheduler
//! holds at most one time for each. **The order is total by construction: earlier time first; at equal times packets leave
//! queues, then arrive, then timers expire; and among events of one kind a lot decides, drawn anew for each slot and
//! nanosecond.** The rule is part of the format: results depend on it. It names no history, so that an event which need not
//! take place can be left out without moving any other, and it favours nobody. The lots are the same for every seed.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// The number of something that can be pending.
pub type Slot = u32;

/// Kind of what can be pending, in the order of events at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A packet has left a transmitter, and the queue in front of it has room again.
    Departure,
    /// A packet reaches the end of a link.
    Arrival,
    /// A host acts by itself.
    Timer,
}

/// A set of pending slots in event order.
pub trait EventScheduler {
    /// Adds one more slot and returns its number; numbers are consecutive from 0.
    fn add_slot(&mut self, kind: Kind) -> Slot;
    /// Makes `slot` due at `time`, in place of whatever it was due for. `time` must not be in the past.
    fn set(&mut self, slot: Slot, time: Time);
    /// Makes `slot` due never.
    fn cancel(&mut self, slot: Slot);
    /// Removes and returns the first pending slot.
    fn pop(&mut self) -> Option<(Time, Slot)>;
    /// Returns the place of a slot's event at `time` among those of the same time.
    fn place(&self, slot: Slot, time: Time) -> Place;
    /// Returns when the first pending slot is due; `NEVER` when nothing is pending. Slower than `pop`: for rare questions.
    fn next_time(&self) -> Time;
}

/// Place of an event among those of its time: kind, lot and slot as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// The lot mixes slot and time by multiplication and shifts, as splitmix64 does.
    fn new(kind: Kind, slot: Slot, time: u64) -> Place {
        let mut lot = time.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(slot).wrapping_mul(0xd1b5_4a32_d192_ed03);
        lot = (lot ^ (lot >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Place((kind as u64) << 62 | lot >> 34 << 32 | u64::from(slot))
    }

    fn slot(self) -> Slot {
        self.0 as Slot
    }
}

const NIL: u32 = u32::MAX;
const LEVELS: usize = 11;
/// Number in place of a bucket for entries due at exactly the current time, which a heap holds.
const NOW: u32 = (LEVELS * 64) as u32;

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    next: u32,
    prev: u32,
    /// The bucket this entry is in, or `NIL` when it is not pending.
    bucket: u32,
}

/// Numbers of slots that are due soon together for which it pays to fetch what they need: fewer are in the cache anyway, and
/// more would push one another out of it.
const IMMINENT: RangeInclusive<usize> = 4..=128;

/// The first and the last entry of a bucket, or `NIL` twice.
#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

impl Ends {
    const EMPTY: Ends = Ends { head: NIL, tail: NIL };
}

/// A hierarchical timing wheel over exact nanoseconds: 11 levels of 64 buckets, intrusive doubly linked lists, no
/// allocation after the slots exist but of places for as many as are ever due at one time. An entry sits at the level of the highest 6-bit digit in which its time differs
/// from the current one, so `set` and `cancel` are O(1) and an entry cascades at most once per level. Entries that are due
/// now have no such digit: a heap keeps them in their order.
#[derive(Clone, Debug)]
pub struct Wheel {
    now: u64,
    levels: u32,
    occupied: [u64; LEVELS],
    buckets: [Ends; LEVELS * 64],
    entries: Vec<Entry>,
    kinds: Vec<Kind>,
    /// Places of the entries that are due now, and of some that no longer are.
    due: BinaryHeap<Reverse<Place>>,
    imminent: Vec<Slot>,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel {
            now: 0,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: [Ends::EMPTY; LEVELS * 64],
            entries: Vec::new(),
            kinds: Vec::new(),
            due: BinaryHeap::new(),
            imminent: Vec::new(),
        }
    }
}

impl Wheel {
    /// Whether a number of slots have turned out to be due soon.
    #[inline(always)]
    pub fn has_imminent(&self) -> bool {
        !self.imminent.is_empty()
    }

    /// Takes the slots that have turned out to be due soon, in place of what `slots` held: what they need can be
    /// [fetched](crate::fetch) before it is used.
    pub fn take_imminent(&mut self, slots: &mut Vec<Slot>) {
        slots.clear();
        std::mem::swap(slots, &mut self.imminent);
    }

    #[inline(always)]
    fn append(&mut self, slot: Slot, time: u64) {
        let differs = time ^ self.now;
        if differs == 0 {
            return self.append_due(slot);
        }
        let level = (63 - differs.leading_zeros()) / 6;
        let digit = (time >> (6 * level)) & 63;
        self.occupied[level as usize] |= 1 << digit;
        self.levels |= 1 << level;
        let bucket = level as usize * 64 + digit as usize;
        let ends = &mut self.buckets[bucket];
        let tail = std::mem::replace(&mut ends.tail, slot);
        self.entries[slot as usize] = Entry { time, next: NIL, prev: tail, bucket: bucket as u32 };
        if tail == NIL {
            ends.head = slot;
        } else {
            self.entries[tail as usize].next = slot;
        }
    }

    /// Adds an entry that is due now.
    #[inline(never)]
    fn append_due(&mut self, slot: Slot) {
        self.entries[slot as usize] = Entry { time: self.now, next: NIL, prev: NIL, bucket: NOW };
        self.due.push(Reverse(Place::new(self.kinds[slot as usize], slot, self.now)));
    }

    /// Removes and returns the first of the entries that are due now.
    #[inline(never)]
    fn pop_due(&mut self) -> Option<Slot> {
        while let Some(Reverse(place)) = self.due.pop() {
            let bucket = &mut self.entries[place.slot() as usize].bucket;
            // A place is left behind where its entry was cancelled or set anew.
            if *bucket == NOW {
                *bucket = NIL;
                return Some(place.slot());
            }
        }
        None
    }

    #[inline(always)]
    fn unlink(&mut self, slot: Slot) {
        let Entry { next, prev, bucket, .. } = self.entries[slot as usize];
        self.entries[slot as usize].bucket = NIL;
        if bucket == NOW {
            return;
        }
        let ends = &mut self.buckets[bucket as usize];
        if prev == NIL {
            ends.head = next;
        } else {
            self.entries[prev as usize].next = next;
        }
        if next == NIL {
            ends.tail = prev;
        } else {
            self.entries[next as usize].prev = prev;
        }
        if ends.head == NIL {
            self.clear_bit(bucket as usize);
        }
    }

    #[inline]
    fn clear_bit(&mut self, bucket: usize) {
        let level = bucket >> 6;
        self.occupied[level] &= !(1 << (bucket & 63));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Notes the slots of a bucket, from `slot` on.
    fn note_imminent(&mut self, mut slot: Slot) {
        self.imminent.clear();
        while slot != NIL {
            self.imminent.push(slot);
            slot = self.entries[slot as usize].next;
        }
    }

    /// Moves the clock to the first time in `bucket` and spreads its entries over the lower levels. Returns the entry that is due
    /// then, if it is the only one.
    #[inline]
    fn cascade(&mut self, bucket: usize) -> Option<Slot> {
        let head = std::mem::replace(&mut self.buckets[bucket], Ends::EMPTY).head;
        let (mut first, mut alone, mut count, mut slot) = (u64::MAX, NIL, 0, head);
        while slot != NIL {
            let Entry { time, next, .. } = self.entries[slot as usize];
            if time <= first {
                (first, alone) = (time, if time < first { slot } else { NIL });
            }
            (count, slot) = (count + 1, next);
        }
        if IMMINENT.contains(&count) {
            self.note_imminent(head);
        }
        slot = head;
        self.now = first;
        self.clear_bit(bucket);
        while slot != NIL {
            let Entry { time, next, .. } = self.entries[slot as usize];
            if slot != alone {
                self.append(slot, time);
            }
            slot = next;
        }
        let entry = self.entries.get_mut(alone as usize)?;
        entry.bucket = NIL;
        Some(alone)
    }
}

impl EventScheduler for Wheel {
    fn add_slot(&mut self, kind: Kind) -> Slot {
        self.entries.push(Entry { time: 0, next: NIL, prev: NIL, bucket: NIL });
        self.kinds.push(kind);
        (self.entries.len() - 1) as Slot
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, time: Time) {
        debug_assert!(time.as_nanos() >= self.now, "slot {slot} set in the past");
        if self.entries[slot as usize].bucket != NIL {
            self.unlink(slot);
        }
        self.append(slot, time.as_nanos());
    }

    #[inline(always)]
    fn cancel(&mut self, slot: Slot) {
        if self.entries[slot as usize].bucket != NIL {
            self.unlink(slot);
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(Time, Slot)> {
        loop {
            if !self.due.is_empty()
                && let Some(slot) = self.pop_due()
            {
                return Some((Time::from_nanos(self.now), slot));
            }
            if self.levels == 0 {
                return None;
            }
            let level = self.levels.trailing_zeros() as usize;
            let bucket = level * 64 + self.occupied[level].trailing_zeros() as usize;
            let ends = &mut self.buckets[bucket];
            let head = ends.head;
            if ends.tail == head {
                *ends = Ends::EMPTY;
                self.clear_bit(bucket);
                let entry = &mut self.entries[head as usize];
                entry.bucket = NIL;
                self.now = entry.time;
                return Some((Time::from_nanos(self.now), head));
            }
            if let Some(slot) = self.cascade(bucket) {
                return Some((Time::from_nanos(self.now), slot));
            }
        }
    }

    fn place(&self, slot: Slot, time: Time) -> Place {
        Place::new(self.kinds[slot as usize], slot, time.as_nanos())
    }

    fn next_time(&self) -> Time {
        if self.due.iter().any(|Reverse(place)| self.entries[place.slot() as usize].bucket == NOW) {
            return Time::from_nanos(self.now);
        }
        if self.levels == 0 {
            return Time::NEVER;
        }
        let level = self.levels.trailing_zeros() as usize;
        let mut slot = self.buckets[level * 64 + self.occupied[level].trailing_zeros() as usize].head;
        let mut first = u64::MAX;
        while slot != NIL {
            let entry = self.entries[slot as usize];
            (first, slot) = (first.min(entry.time), entry.next);
        }
        Time::from_nanos(first)
    }
}

/// The textbook scheduler: a binary heap of times and places with stale entries skipped. Slower; it states the
/// event order in one line and is what [`Wheel`] is tested against.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    queue: BinaryHeap<Reverse<(Time, Place)>>,
    slots: Vec<(Kind, Time)>,
}

impl EventScheduler for Heap {
    fn add_slot(&mut self, kind: Kind) -> Slot {
        self.slots.push((kind, Time::NEVER));
        (self.slots.len() - 1) as Slot
    }
    fn set(&mut self, slot: Slot, time: Time) {
        let (kind, due) = &mut self.slots[slot as usize];
        *due = time;
        self.queue.push(Reverse((time, Place::new(*kind, slot, time.as_nanos()))));
    }
    fn cancel(&mut self, slot: Slot) {
        self.slots[slot as usize].1 = Time::NEVER;
    }
    fn pop(&mut self) -> Option<(Time, Slot)> {
        while let Some(Reverse((time, place))) = self.queue.pop() {
            let slot = place.slot();
            let due = &mut self.slots[slot as usize].1;
            if *due == time {
                *due = Time::NEVER;
                return Some((time, slot));
            }
        }
        None
    }
    fn place(&self, slot: Slot, time: Time) -> Place {
        Place::new(self.slots[slot as usize].0, slot, time.as_nanos())
    }
    fn next_time(&self) -> Time {
        self.slots.iter().map(|slot| slot.1).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u32, u64),
        Cancel(u32),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Delays from a few, repeated values (ties) to hours (high levels).
        let delay = prop_oneof![Just(0u64), 0u64..4, 0u64..5_000, 0u64..10_000_000_000, 0u64..20_000_000_000_000];
        let step = prop_oneof![
            4 => (0u32..24, delay).prop_map(|(slot, delay)| Step::Set(slot, delay)),
            1 => (0u32..24).prop_map(Step::Cancel),
            4 => Just(Step::Pop),
        ];
        prop::collection::vec(step, 1..400)
    }

    /// Pops `slots` that are due together at each of these times, and counts how often each slot came at each place.
    fn places(slots: usize, kind: impl Fn(usize) -> Kind, times: impl Iterator<Item = u64>) -> Vec<Vec<f64>> {
        let mut wheel = Wheel::default();
        (0..slots).for_each(|slot| assert_eq!(wheel.add_slot(kind(slot)) as usize, slot));
        let mut counts = vec![vec![0.0; slots]; slots];
        for time in times {
            (0..slots as Slot).for_each(|slot| wheel.set(slot, Time::from_nanos(time)));
            let order: Vec<Slot> = std::iter::from_fn(|| wheel.pop().map(|(_, slot)| slot)).collect();
            order.iter().enumerate().for_each(|(place, &slot)| counts[slot as usize][place] += 1.0);
        }
        counts
    }

    /// Pearson's chi-squared of 8 slots at 8 places has 49 degrees of freedom, for which 85.4 has a chance of one in a thousand.
    #[test]
    fn a_lot_favours_no_slot() {
        // Periods of segments of 1500 bytes at 1 Gbit/s and 10 Mbit/s, of milliseconds, and of powers of two.
        for period in [12_000, 1_200_000, 1_000_000, 1 << 20, 1 << 32] {
            let (draws, slots) = (8_000, 8);
            let counts = places(slots, |_| Kind::Arrival, (1..=draws).map(|draw| draw * period));
            let expected = draws as f64 / slots as f64;
            let chi_squared: f64 =
                counts.iter().flatten().map(|count| (count - expected) * (count - expected) / expected).sum();
            assert!(chi_squared < 85.4, "period {period}: {chi_squared}");
        }
    }

    #[test]
    fn queues_are_left_before_packets_arrive_and_timers_expire_last() {
        let kind = |slot| [Kind::Timer, Kind::Departure, Kind::Arrival][slot];
        let counts = places(3, kind, (1..=100).map(|draw| draw * 12_000));
        assert_eq!(counts, [[0.0, 0.0, 100.0], [100.0, 0.0, 0.0], [0.0, 100.0, 0.0]]);
    }

    proptest! {
        #[test]
        fn the_wheel_orders_events_as_the_heap_does(steps in steps()) {
            let (mut wheel, mut heap, mut now) = (Wheel::default(), Heap::default(), Time::ZERO);
            for slot in 0..24 {
                let kind = [Kind::Departure, Kind::Arrival, Kind::Timer][slot % 3];
                prop_assert_eq!(wheel.add_slot(kind), heap.add_slot(kind));
            }
            for step in steps {
                match step {
                    Step::Set(slot, delay) => {
                        let time = now + crate::Duration::from_nanos(delay);
                        wheel.set(slot, time);
                        heap.set(slot, time);
                    }
                    Step::Cancel(slot) => {
                        wheel.cancel(slot);
                        heap.cancel(slot);
                    }
                    Step::Pop => {
                        prop_assert_eq!(wheel.next_time(), heap.next_time());
                        let (got, expected) = (wheel.pop(), heap.pop());
                        prop_assert_eq!(got, expected);
                        now = got.map_or(now, |(time, _)| time);
                    }
                }
            }
            loop {
                let (got, expected) = (wheel.pop(), heap.pop());
                prop_assert_eq!(got, expected);
                if got.is_none() { break }
            }
        }
    }
}
