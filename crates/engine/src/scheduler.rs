//! The event order.
//!
//! Everything that can be pending (a link's next delivery, a timer, an application) owns one *slot*, and the scheduler
//! holds at most one time for each. **The order is total by construction: earlier time first, and equal times in the
//! order in which they were set.** The rule is part of the format: results depend on it.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// The number of something that can be pending.
pub type Slot = u32;

/// A set of pending slots in event order.
pub trait EventScheduler {
    /// Adds one more slot and returns its number; numbers are consecutive from 0.
    fn add_slot(&mut self) -> Slot;
    /// Makes `slot` due at `time`, in place of whatever it was due for. `time` must not be in the past.
    fn set(&mut self, slot: Slot, time: Time);
    /// Makes `slot` due never.
    fn cancel(&mut self, slot: Slot);
    /// Removes and returns the first pending slot.
    fn pop(&mut self) -> Option<(Time, Slot)>;
    /// Returns when the first pending slot is due; `NEVER` when nothing is pending. Slower than `pop`: for rare questions.
    fn next_time(&self) -> Time;
}

const NIL: u32 = u32::MAX;
const LEVELS: usize = 11;
/// The bucket of entries due at exactly the current time.
const NOW: usize = LEVELS * 64;

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
/// allocation after the slots exist. An entry sits at the level of the highest 6-bit digit in which its time differs
/// from the current one, so `set` and `cancel` are O(1) and an entry cascades at most once per level.
#[derive(Clone, Debug)]
pub struct Wheel {
    now: u64,
    levels: u32,
    occupied: [u64; LEVELS],
    buckets: [Ends; NOW + 1],
    entries: Vec<Entry>,
    imminent: Vec<Slot>,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel {
            now: 0,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: [Ends::EMPTY; NOW + 1],
            entries: Vec::new(),
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
    fn append(&mut self, slot: u32, time: u64) {
        let differs = time ^ self.now;
        let bucket = if differs == 0 {
            NOW
        } else {
            let level = (63 - differs.leading_zeros()) / 6;
            let digit = (time >> (6 * level)) & 63;
            self.occupied[level as usize] |= 1 << digit;
            self.levels |= 1 << level;
            level as usize * 64 + digit as usize
        };
        let ends = &mut self.buckets[bucket];
        let tail = std::mem::replace(&mut ends.tail, slot);
        self.entries[slot as usize] = Entry { time, next: NIL, prev: tail, bucket: bucket as u32 };
        if tail == NIL {
            ends.head = slot;
        } else {
            self.entries[tail as usize].next = slot;
        }
    }

    #[inline(always)]
    fn unlink(&mut self, slot: u32) {
        let Entry { next, prev, bucket, .. } = self.entries[slot as usize];
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
        if ends.head == NIL && bucket as usize != NOW {
            self.clear_bit(bucket as usize);
        }
        self.entries[slot as usize].bucket = NIL;
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

    /// Moves the clock to the first time in `bucket` and spreads its entries, in order, over the lower levels.
    #[inline]
    fn cascade(&mut self, bucket: usize) {
        let head = std::mem::replace(&mut self.buckets[bucket], Ends::EMPTY).head;
        let (mut first, mut count, mut slot) = (u64::MAX, 0, head);
        while slot != NIL {
            let entry = &self.entries[slot as usize];
            (first, count, slot) = (first.min(entry.time), count + 1, entry.next);
        }
        if IMMINENT.contains(&count) {
            self.note_imminent(head);
        }
        slot = head;
        self.now = first;
        self.clear_bit(bucket);
        while slot != NIL {
            let Entry { time, next, .. } = self.entries[slot as usize];
            self.append(slot, time);
            slot = next;
        }
    }
}

impl EventScheduler for Wheel {
    fn add_slot(&mut self) -> Slot {
        self.entries.push(Entry { time: 0, next: NIL, prev: NIL, bucket: NIL });
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
        if self.buckets[NOW].head == NIL {
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
            self.cascade(bucket);
        }
        let head = self.buckets[NOW].head;
        self.unlink(head);
        Some((Time::from_nanos(self.now), head))
    }

    fn next_time(&self) -> Time {
        if self.buckets[NOW].head != NIL {
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

/// The textbook scheduler: a binary heap of (time, order of setting) with stale entries skipped. Slower; it states the
/// event order in one line and is what [`Wheel`] is tested against.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    queue: BinaryHeap<Reverse<(Time, u64, Slot)>>,
    current: Vec<u64>,
    sequence: u64,
}

impl EventScheduler for Heap {
    fn add_slot(&mut self) -> Slot {
        self.current.push(0);
        (self.current.len() - 1) as Slot
    }
    fn set(&mut self, slot: Slot, time: Time) {
        self.sequence += 1;
        self.current[slot as usize] = self.sequence;
        self.queue.push(Reverse((time, self.sequence, slot)));
    }
    fn cancel(&mut self, slot: Slot) {
        self.current[slot as usize] = 0;
    }
    fn pop(&mut self) -> Option<(Time, Slot)> {
        while let Some(Reverse((time, sequence, slot))) = self.queue.pop() {
            if self.current[slot as usize] == sequence {
                self.current[slot as usize] = 0;
                return Some((time, slot));
            }
        }
        None
    }
    fn next_time(&self) -> Time {
        let pending = |entry: &&Reverse<(Time, u64, Slot)>| self.current[entry.0.2 as usize] == entry.0.1;
        self.queue.iter().filter(pending).map(|entry| entry.0.0).min().unwrap_or(Time::NEVER)
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

    proptest! {
        #[test]
        fn the_wheel_orders_events_as_the_heap_does(steps in steps()) {
            let (mut wheel, mut heap, mut now) = (Wheel::default(), Heap::default(), Time::ZERO);
            for _ in 0..24 {
                prop_assert_eq!(wheel.add_slot(), heap.add_slot());
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
