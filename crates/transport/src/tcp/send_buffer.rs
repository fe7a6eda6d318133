//! Linux's send buffer: how much of the application's data it holds, and in which runs.

use std::collections::VecDeque;

/// What Linux holds of an application's data (`tcp_sendmsg_locked`, net/ipv4/tcp.c): runs of octets up to the size of what it
/// hands its card at once. What leaves at once is a part of the first run, with a part of the second if that is short. The
/// buffer accounts for memory, not for octets, and grows with the congestion window (`tcp_sndbuf_expand`); while it is full
/// the application sleeps, and where nothing is left to send the window is not used.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// One beyond the last octet that it has taken from the application.
    pub written: u64,
    /// Where its runs end, from the first that is not acknowledged on.
    ends: VecDeque<u64>,
    /// The memory it may take.
    size: u64,
    application: Application,
    /// One beyond the last octet that it has wanted to leave.
    pushed: u64,
    /// Where runs end that were pushed, from the first that is not acknowledged on.
    pushes: VecDeque<u64>,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// It writes what it has.
    Writes,
    /// It sleeps, as the buffer is full.
    Sleeps,
    /// There is room, and it will write as soon as everything has left that may.
    Wakes,
}

/// What memory a run takes besides its octets.
const NOTED: u64 = 832;
/// Memory for so many segments, at least, and twice the window.
const LEAST_SEGMENTS: u64 = 10;
const LARGEST: u64 = 4 << 20;

/// The first run that has not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// One beyond its last octet.
    pub end: u64,
    /// Whether the application may still add to it.
    pub last: bool,
}

impl SendBuffer {
    /// An empty one, of which octet `start` will be the first.
    pub fn new(start: u64, mss: u64) -> Self {
        let size = memory_for(LEAST_SEGMENTS, mss);
        let (ends, pushes) = (VecDeque::new(), VecDeque::new());
        SendBuffer { written: start, ends, size, application: Application::Writes, pushed: start, pushes }
    }

    fn memory(&self, una: u64) -> u64 {
        self.written.saturating_sub(una) + NOTED * self.ends.len() as u64
    }

    /// The application, unless it sleeps, writes what it has up to `end`: into the last run until that has `goal` octets, then
    /// into new ones. What it wrote is pushed when it has written all, when it falls asleep, and with the run that makes it
    /// more than `much` since the last push. If something `can_leave`, it stops where a run is complete that is the first to
    /// leave; whether that leaves whatever it could wait for (`tcp_push_one`), as it does unless it is pushed.
    pub fn fill(&mut self, una: u64, nxt: u64, end: u64, (goal, much): (u64, u64), can_leave: bool) -> bool {
        self.written = self.written.max(nxt);
        while self.application == Application::Writes && self.written < end {
            if self.memory(una) >= self.size {
                self.application = Application::Sleeps;
                self.push();
                return false;
            }
            let mut start = self.ends.iter().rev().nth(1).copied().unwrap_or(0).max(nxt).max(una);
            let mut marked = false;
            if (1..goal).contains(&self.written.saturating_sub(start)) {
                marked = self.unmark(self.ends.back().copied());
                self.ends.pop_back();
            } else {
                start = self.written;
            }
            self.written = end.min(start + goal);
            self.ends.push_back(self.written);
            if marked {
                self.mark();
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
        self.mark();
    }

    fn mark(&mut self) {
        if self.pushes.back() != Some(&self.written) {
            self.pushes.push_back(self.written);
        }
    }

    /// The last run, which ends here, grows: whether it had been pushed.
    fn unmark(&mut self, end: Option<u64>) -> bool {
        let marked = end.is_some() && self.pushes.back().copied() == end;
        if marked {
            self.pushes.pop_back();
        }
        marked
    }

    /// Whether a run that ends at this octet was pushed.
    pub fn is_pushed(&self, end: u64) -> bool {
        self.pushes.binary_search(&end).is_ok()
    }

    /// The run that begins at `nxt`, made up from the next to `least` octets.
    pub fn run(&self, nxt: u64, least: u64) -> Run {
        let first = self.ends.partition_point(|&end| end <= nxt);
        let end = self.ends.get(first).copied().unwrap_or(nxt);
        let end = self.ends.get(first + 1).map_or(end, |&next| end.max(next.min(nxt + least)));
        Run { end, last: end >= self.written }
    }

    /// What lies from `nxt` to `end` leaves as a run of its own, pushed if one is that it is made up of (`tcp_grow_skb`).
    pub fn take(&mut self, nxt: u64, end: u64) {
        let first = self.pushes.partition_point(|&at| at <= nxt);
        if self.pushes.get(first).is_some_and(|&at| at < end) {
            let beyond = self.pushes.partition_point(|&at| at <= end);
            self.pushes.drain(first..beyond);
            self.pushes.insert(first, end);
        }
        let first = self.ends.partition_point(|&other| other <= nxt);
        while self.ends.get(first).is_some_and(|&other| other < end) {
            self.ends.remove(first);
        }
        if self.ends.get(first) != Some(&end) {
            self.ends.insert(first, end);
        }
    }

    /// Everything before `una` was acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
        }
        while self.pushes.front().is_some_and(|&end| end <= una) {
            self.pushes.pop_front();
        }
    }

    /// Something left or arrived. The buffer grows if a window of `segments` is not all in use; the application wakes when a
    /// third of the buffer is free.
    pub fn make_room(&mut self, una: u64, mss: u64, segments: u64, spare: bool) {
        if self.application != Application::Sleeps {
            return;
        }
        if spare {
            self.size = self.size.max(memory_for(segments.max(LEAST_SEGMENTS), mss).min(LARGEST));
        }
        let memory = self.memory(una);
        if self.size.saturating_sub(memory) >= memory / 2 {
            self.application = Application::Wakes;
        }
    }

    /// Everything has left that may: whether the application, woken, writes again.
    pub fn resume(&mut self) -> bool {
        let wakes = self.application == Application::Wakes;
        if wakes {
            self.application = Application::Writes;
        }
        wakes
    }
}

/// Memory for twice so many segments, each by itself.
fn memory_for(segments: u64, mss: u64) -> u64 {
    2 * segments * ((mss + 512).next_power_of_two() + 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Octet at which so many segments end.
    fn after(segments: u64) -> u64 {
        1 + segments * MSS
    }

    /// What SO_MEMINFO and SIOCOUTQ say in a Linux 6.12 guest whose program writes as fast as it can over 100 Mbit/s and
    /// 50 ms: 30 segments at first, in 48 432 bytes where 46 080 were allowed; when 11 are acknowledged and the other 19 in
    /// flight, of a window of 21, memory for 96 768 bytes, of which 35 832 are taken, and 60 segments more fill it.
    #[test]
    fn it_fills_as_linux_does() {
        let mut buffer = SendBuffer::new(1, MSS);
        let goal = 22 * MSS;
        for sent in (0..10).step_by(2) {
            buffer.fill(1, after(sent), u64::MAX, (goal, goal), true);
            buffer.take(after(sent), after(sent + 2));
        }
        buffer.fill(1, after(10), u64::MAX, (goal, goal), false);
        assert_eq!((buffer.written, buffer.memory(1), buffer.size), (after(30), 48_432, 46_080));

        (10..30).step_by(2).for_each(|sent| buffer.take(after(sent), after(sent + 2)));
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
            buffer.take(after(30), after(32));
        }
        assert_eq!((buffer.written, buffer.memory(after(11))), (after(90), 125_208));
    }

    /// The first run, complete, leaves at once, whatever it could wait for; a run of which a part has left is made up
    /// from the next, and filled up by the application while it is the last.
    #[test]
    fn runs_are_made_up_and_filled_up() {
        let mut buffer = SendBuffer::new(1, MSS);
        let goal = (4 * MSS, 4 * MSS);
        assert!(buffer.fill(1, 1, u64::MAX, goal, true));
        buffer.take(1, after(3));
        assert!(!buffer.fill(1, after(3), u64::MAX, goal, true), "more than a run was written since the last push");
        assert_eq!(buffer.run(after(3), MSS), Run { end: after(7), last: true });
        buffer.fill(1, after(3), after(9), goal, false);
        assert_eq!(buffer.run(after(3), MSS), Run { end: after(7), last: false });
        assert_eq!(buffer.run(after(6), 2 * MSS), Run { end: after(8), last: false });
        assert_eq!(buffer.run(after(7), MSS), Run { end: after(9), last: true });
    }

    /// forced_push in Linux: the run that makes it more than half the largest window since the last push carries PSH, as do
    /// the last one that an application writes, and the last one before it sleeps, which a guest's captures show at octet
    /// 173 761. A run that grows takes its mark with it.
    #[test]
    fn what_was_pushed() {
        let mut buffer = SendBuffer::new(1, MSS);
        buffer.size = u64::MAX;
        let (goal, much) = (2 * MSS, 5 * MSS);
        buffer.fill(1, 1, after(7), (goal, much), false);
        assert_eq!(buffer.pushes, [after(6), after(7)]);
        buffer.fill(1, 1, after(9), (goal, much), false);
        assert_eq!(buffer.pushes, [after(6), after(8), after(9)]);
        assert!(buffer.is_pushed(after(6)) && !buffer.is_pushed(after(7)));
        buffer.acknowledge(after(6));
        buffer.size = buffer.memory(after(6)) + 1;
        buffer.fill(after(6), after(6), u64::MAX, (goal, 100 * MSS), false);
        assert_eq!(buffer.pushes, [after(8), after(10)]);
        assert_eq!(buffer.application, Application::Sleeps);
        buffer.take(after(7), after(9));
        assert_eq!(buffer.pushes, [after(9), after(10)]);
    }
}
