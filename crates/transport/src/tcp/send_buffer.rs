//! Linux's send buffer: how much application data it holds, and how the data is divided into runs.

use std::collections::VecDeque;

/// Send buffer of Linux (`tcp_sendmsg_locked`, net/ipv4/tcp.c). It holds runs of octets (skbs) up to the size that is
/// passed to the NIC at once. A transmission takes part of the first run, plus part of the second if the first is
/// short. The buffer accounts for memory rather than octets and grows with the congestion window (`tcp_sndbuf_expand`)
/// up to the maximum of `tcp_wmem`, unless its size was given (`SO_SNDBUF`), which the kernel doubles. While it is full the
/// application is blocked, and if nothing is left to send the window goes unused.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// Octet after the last one taken from the application.
    pub written: u64,
    /// Runs, from the first unacknowledged one on.
    runs: VecDeque<Run>,
    /// Memory limit (`sk_sndbuf`), and up to what it grows.
    size: u64,
    most: u64,
    application: Application,
    /// Octet after the last one pushed.
    pushed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// Writes whatever it has.
    Writes,
    /// Blocked because the buffer is full.
    Sleeps,
    /// Unblocked; writes once everything that may leave has left.
    Wakes,
}

const RUN_OVERHEAD: u64 = 832;
/// The buffer is at least large enough for twice this many segments.
const MIN_SEGMENTS: u64 = 10;
/// Least buffer that can be given (`SOCK_MIN_SNDBUF`): two segments of 2048 bytes and their overhead.
const LEAST_GIVEN: u64 = 4608;

/// Octets that Linux keeps together (an skb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Octet after the last one of the run.
    pub end: u64,
    /// Whether it carries PSH.
    pushed: bool,
}

impl SendBuffer {
    /// Creates an empty buffer whose first octet will be `start`, of the size `given`, or else one that grows up to `most`.
    pub fn new(start: u64, mss: u64, given: Option<u64>, most: u64) -> Self {
        let (size, most) = match given {
            Some(given) => (given.saturating_mul(2).max(LEAST_GIVEN), 0),
            None => (memory_for(MIN_SEGMENTS, mss).min(most), most),
        };
        SendBuffer {
            written: start,
            runs: VecDeque::new(),
            size,
            most,
            application: Application::Writes,
            pushed: start,
        }
    }

    /// Whether the application waits for room.
    pub fn is_blocking(&self) -> bool {
        self.application == Application::Sleeps
    }

    fn memory(&self, una: u64) -> u64 {
        self.written.saturating_sub(una) + RUN_OVERHEAD * self.runs.len() as u64
    }

    /// Lets the application write up to `end` unless it is blocked: first into the last run until that has `goal`
    /// octets, then into new runs. The data is pushed when all is written, when the application blocks, and with the
    /// run that exceeds `much` octets since the last push. If something `can_leave`, writing stops after completing the
    /// run that leaves first; returns whether that run leaves at once without deferral (`tcp_push_one`), which it does
    /// unless pushed.
    pub fn fill(&mut self, una: u64, nxt: u64, end: u64, (goal, much): (u64, u64), can_leave: bool) -> bool {
        self.written = self.written.max(nxt);
        while self.application == Application::Writes && self.written < end {
            if self.memory(una) >= self.size {
                self.application = Application::Sleeps;
                self.push();
                return false;
            }
            let before_last = self.runs.iter().rev().nth(1).map_or(0, |run| run.end);
            let mut start = before_last.max(nxt).max(una);
            if !(1..goal).contains(&self.written.saturating_sub(start)) {
                start = self.written;
                self.runs.push_back(Run { end: start, pushed: false });
            }
            self.written = end.min(start + goal);
            if let Some(last) = self.runs.back_mut() {
                last.end = self.written;
            }
            if self.written == end {
                self.push();
                return false;
            }
            if self.written < start + goal {
                continue;
            }
            let forced = self.written > self.pushed + much;
            if forced {
                self.push();
            }
            if can_leave && start == nxt {
                return !forced;
            }
        }
        false
    }

    fn push(&mut self) {
        self.pushed = self.written;
        if let Some(last) = self.runs.back_mut() {
            last.pushed = true;
        }
    }

    pub fn is_pushed(&self, end: u64) -> bool {
        self.runs.binary_search_by_key(&end, |run| run.end).is_ok_and(|place| self.runs[place].pushed)
    }

    /// Whether the run that ends at this octet is one that the application may still extend.
    pub fn is_last(&self, end: u64) -> bool {
        end >= self.written
    }

    /// Returns the end of the run that begins at `nxt`, extended from the next run to `least` octets (`tcp_grow_skb`).
    /// The rest of the next run keeps its PSH.
    pub fn grow(&mut self, nxt: u64, least: u64) -> u64 {
        let first = self.first_after(nxt);
        let Some(&run) = self.runs.get(first) else { return nxt };
        let Some(&next) = self.runs.get(first + 1).filter(|_| run.end < nxt + least) else { return run.end };
        if next.end <= nxt + least {
            self.runs.remove(first);
            self.runs[first].pushed |= run.pushed;
        } else {
            self.runs[first].end = nxt + least;
        }
        self.runs[first].end
    }

    /// Splits off the data before `end` as a run of its own; the rest of its run keeps PSH (`tso_fragment`). A window
    /// probe is pushed (`tcp_write_wakeup`).
    pub fn take(&mut self, end: u64, probes: bool) {
        let first = self.first_after(end - 1);
        if self.runs.get(first).is_none_or(|run| run.end != end) {
            self.runs.insert(first, Run { end, pushed: false });
        }
        self.runs[first].pushed |= probes;
    }

    pub fn run_end(&self, octet: u64) -> u64 {
        self.runs.get(self.first_after(octet)).map_or(octet, |run| run.end)
    }

    /// Index of the first run that ends beyond this octet.
    fn first_after(&self, octet: u64) -> usize {
        self.runs.partition_point(|run| run.end <= octet)
    }

    /// Removes everything before `una`, which was acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        while self.runs.front().is_some_and(|run| run.end <= una) {
            self.runs.pop_front();
        }
    }

    /// Updates the buffer after a transmission or an acknowledgement. It grows if a window of `segments` has spare
    /// room; the application is unblocked when a third of the buffer is free.
    pub fn make_room(&mut self, una: u64, mss: u64, segments: u64, spare: bool) {
        if self.application != Application::Sleeps {
            return;
        }
        if spare {
            self.size = self.size.max(memory_for(segments.max(MIN_SEGMENTS), mss).min(self.most));
        }
        let memory = self.memory(una);
        if self.size.saturating_sub(memory) >= memory / 2 {
            self.application = Application::Wakes;
        }
    }

    /// Lets an unblocked application write again; returns whether it does.
    pub fn resume(&mut self) -> bool {
        let wakes = self.application == Application::Wakes;
        if wakes {
            self.application = Application::Writes;
        }
        wakes
    }
}

/// Memory of twice this many segments, each in a run of its own.
fn memory_for(segments: u64, mss: u64) -> u64 {
    2 * segments * ((mss + 512).next_power_of_two() + 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Octet at which this many segments end.
    fn after(segments: u64) -> u64 {
        1 + segments * MSS
    }

    /// SO_MEMINFO and SIOCOUTQ in a Linux 6.12 guest whose program writes as fast as it can over 100 Mbit/s and 50 ms:
    /// at first 30 segments, in 48 432 bytes where 46 080 were allowed; when 11 are acknowledged and the other 19 in
    /// flight, with a window of 21, memory for 96 768 bytes, of which 35 832 are taken, and 60 more segments fill it.
    #[test]
    fn it_fills_as_linux_does() {
        let mut buffer = SendBuffer::new(1, MSS, None, 4 << 20);
        let goal = 22 * MSS;
        for sent in (0..10).step_by(2) {
            buffer.fill(1, after(sent), u64::MAX, (goal, goal), true);
            buffer.take(after(sent + 2), false);
        }
        buffer.fill(1, after(10), u64::MAX, (goal, goal), false);
        assert_eq!((buffer.written, buffer.memory(1), buffer.size), (after(30), 48_432, 46_080));

        (10..30).step_by(2).for_each(|sent| buffer.take(after(sent + 2), false));
        buffer.acknowledge(after(10));
        buffer.make_room(after(10), MSS, 20, false);
        assert!(!buffer.resume(), "a third is not free");
        buffer.acknowledge(after(11));
        assert_eq!(buffer.memory(after(11)), 35_832);
        buffer.make_room(after(11), MSS, 21, true);
        assert_eq!(buffer.size, 96_768);
        assert!(buffer.resume());
        for sent in [30, 32] {
            buffer.fill(after(11), after(sent), u64::MAX, (29 * MSS, 29 * MSS), sent == 30);
            buffer.take(after(32), false);
        }
        assert_eq!((buffer.written, buffer.memory(after(11))), (after(90), 125_208));
    }

    /// SO_SNDBUF counts twice, is no less than SOCK_MIN_SNDBUF and does not grow (sk_setsockopt); a buffer of the kernel's own
    /// grows up to the third value of tcp_wmem, as far as the window asks (tcp_sndbuf_expand).
    #[test]
    fn its_size_is_given_or_bounded() {
        for (given, most, size) in [
            (Some(64_000), 4 << 20, 128_000),
            (Some(256), 4 << 20, 4_608),
            (None, 100_000, 100_000),
            (None, 16_384, 16_384),
            (None, 64 << 20, 10_000 * 2 * 2_304),
        ] {
            let mut buffer = SendBuffer::new(1, MSS, given, most);
            buffer.fill(1, 1, u64::MAX, (44 * MSS, 1 << 40), false);
            buffer.make_room(1, MSS, 10_000, true);
            assert_eq!(buffer.size, size, "{given:?} {most}");
        }
    }

    /// The first complete run leaves at once without deferral; a partially sent run is extended from the next one, and
    /// by the application while it is the last.
    #[test]
    fn runs_are_made_up_and_filled_up() {
        let mut buffer = SendBuffer::new(1, MSS, None, 4 << 20);
        let goal = (4 * MSS, 4 * MSS);
        assert!(buffer.fill(1, 1, u64::MAX, goal, true));
        buffer.take(after(3), false);
        assert!(!buffer.fill(1, after(3), u64::MAX, goal, true), "more than a run was written since the last push");
        assert_eq!((buffer.written, buffer.grow(after(3), MSS)), (after(7), after(7)));
        buffer.fill(1, after(3), after(9), goal, false);
        assert_eq!((buffer.grow(after(3), MSS), buffer.is_last(after(7))), (after(7), false));
        buffer.take(after(6), false);
        assert_eq!(buffer.grow(after(6), 2 * MSS), after(8));
        buffer.take(after(7), false);
        assert_eq!((buffer.grow(after(7), MSS), buffer.grow(after(7), 9 * MSS)), (after(8), after(9)));
        assert!(buffer.is_last(after(9)));
    }

    fn pushes(buffer: &SendBuffer) -> Vec<u64> {
        buffer.runs.iter().filter(|run| run.pushed).map(|run| run.end).collect()
    }

    /// forced_push in Linux: PSH is set on the run that exceeds half the largest window since the last push, on the
    /// last one that an application writes, and on the last one before it blocks, which a guest's captures show at
    /// octet 173 761. A run that is extended takes over PSH; of a split run the rest keeps it.
    #[test]
    fn what_was_pushed() {
        let mut buffer = SendBuffer::new(1, MSS, None, 4 << 20);
        buffer.size = u64::MAX;
        let (goal, much) = (2 * MSS, 5 * MSS);
        buffer.fill(1, 1, after(7), (goal, much), false);
        assert_eq!(pushes(&buffer), [after(6), after(7)]);
        buffer.fill(1, 1, after(9), (goal, much), false);
        assert_eq!(pushes(&buffer), [after(6), after(8), after(9)]);
        assert!(buffer.is_pushed(after(6)) && !buffer.is_pushed(after(7)));
        buffer.acknowledge(after(6));
        buffer.size = buffer.memory(after(6)) + 1;
        buffer.fill(after(6), after(6), u64::MAX, (goal, 100 * MSS), false);
        assert_eq!(pushes(&buffer), [after(8), after(10)]);
        assert_eq!(buffer.application, Application::Sleeps);
        buffer.take(after(7), false);
        assert_eq!(pushes(&buffer), [after(8), after(10)]);
        assert_eq!(buffer.grow(after(7), 2 * MSS), after(9));
        assert_eq!(pushes(&buffer), [after(9), after(10)]);
    }
}
