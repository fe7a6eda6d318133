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
    /// Its runs, from the first that is not acknowledged on.
    runs: VecDeque<Run>,
    /// The memory it may take.
    size: u64,
    application: Application,
    /// One beyond the last octet that it has wanted to leave.
    pushed: u64,
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

/// Octets that Linux keeps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// One beyond its last octet.
    pub end: u64,
    /// Whether it carries PSH.
    pushed: bool,
}

impl SendBuffer {
    /// An empty one, of which octet `start` will be the first.
    pub fn new(start: u64, mss: u64) -> Self {
        let size = memory_for(LEAST_SEGMENTS, mss);
        SendBuffer { written: start, runs: VecDeque::new(), size, application: Application::Writes, pushed: start }
    }

    fn memory(&self, una: u64) -> u64 {
        self.written.saturating_sub(una) + NOTED * self.runs.len() as u64
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

    /// Whether a run that ends at this octet was pushed.
    pub fn is_pushed(&self, end: u64) -> bool {
        self.runs.binary_search_by_key(&end, |run| run.end).is_ok_and(|place| self.runs[place].pushed)
    }

    /// Whether the run that ends at this octet is one that the application may still add to.
    pub fn is_last(&self, end: u64) -> bool {
        end >= self.written
    }

    /// The end of the run that begins at `nxt`, made up from the next to `least` octets: `tcp_grow_skb`, which leaves what it
    /// takes, and PSH with what it leaves.
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

    /// What lies before `end` leaves as a run of its own; what its run had more keeps PSH (`tso_fragment`). What probes a window
    /// is pushed (`tcp_write_wakeup`).
    pub fn take(&mut self, end: u64, probes: bool) {
        let first = self.first_after(end - 1);
        if self.runs.get(first).is_none_or(|run| run.end != end) {
            self.runs.insert(first, Run { end, pushed: false });
        }
        self.runs[first].pushed |= probes;
    }

    /// The end of the run that holds this octet.
    pub fn run_end(&self, octet: u64) -> u64 {
        self.runs.get(self.first_after(octet)).map_or(octet, |run| run.end)
    }

    /// The first run that ends beyond this octet.
    fn first_after(&self, octet: u64) -> usize {
        self.runs.partition_point(|run| run.end <= octet)
    }

    /// Everything before `una` was acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        while self.runs.front().is_some_and(|run| run.end <= una) {
            self.runs.pop_front();
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

    /// The first run, complete, leaves at once, whatever it could wait for; a run of which a part has left is made up
    /// from the next, and filled up by the application while it is the last.
    #[test]
    fn runs_are_made_up_and_filled_up() {
        let mut buffer = SendBuffer::new(1, MSS);
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

    /// forced_push in Linux: the run that makes it more than half the largest window since the last push carries PSH, as do
    /// the last one that an application writes, and the last one before it sleeps, which a guest's captures show at octet
    /// 173 761. A run that grows takes its mark with it; of one that is cut the rest has it.
    #[test]
    fn what_was_pushed() {
        let mut buffer = SendBuffer::new(1, MSS);
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
