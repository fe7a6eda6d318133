//! Packets of one connection at two places: which are the same, which were lost between them.

use std::collections::BTreeMap;

/// Most packets of the far place that are looked at for the octets of one that has none like it there.
const MOST_LOOKED_AT: usize = 512;

/// Header of a segment, as far as nobody on the way changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Sequence number of the first octet of data.
    pub sequence: u32,
    /// Octets of data.
    pub length: u32,
    /// Acknowledgement number, window and flags.
    pub rest: (u32, u16, u8),
    /// Timestamp and echo.
    pub stamps: Option<(u32, u32)>,
    /// Identification of the IPv4 packet, if it counts.
    pub identification: Option<u16>,
}

/// Segment as it passed one place.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// What it is known by.
    pub mark: Mark,
    /// Nanoseconds on the clock there.
    pub time: i64,
}

/// What became of a segment between two places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It may have come or not.
    #[default]
    Unknown,
    /// It passed the far place, as the packet of this number there.
    Arrived(usize),
    /// It did not pass the far place, nor did its octets.
    Lost,
}

/// Packets of one direction at both places.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// Fates of the packets at the near place.
    pub fates: Vec<Fate>,
    /// Least time from the near place to the far one, as the two clocks have it.
    pub least: Option<i64>,
    /// Numbers of packets at the far place that no packet of the near one became.
    pub strangers: Vec<usize>,
}

/// Pairs the packets of one direction. `known` is the time on the far clock within which packets there are known.
pub fn pair(near: &[Sighting], far: &[Sighting], known: (i64, i64)) -> Pairing {
    let mut of_near = vec![None; near.len()];
    let mut of_far = vec![None; far.len()];
    let least = groups(near, far, &of_near, &of_far, |mark| Some(Mark { identification: None, ..*mark }))
        .filter_map(|(here, there)| match (&here[..], &there[..]) {
            ([one], [other]) => Some(far[*other].time - near[*one].time),
            _ => None,
        })
        .min();
    // Numbers of IP packets tell what nothing else does, unless something on the way counts anew.
    let keys: [fn(&Mark) -> Option<Mark>; 2] =
        [|mark| mark.identification.map(|_| *mark), |mark| Some(Mark { identification: None, ..*mark })];
    for key in keys {
        let found: Vec<_> = groups(near, far, &of_near, &of_far, key).collect();
        for (here, there) in found {
            for (one, other) in
                alike(&here, &there, |one, other| least.is_none_or(|least| far[other].time - near[one].time >= least))
            {
                (of_near[one], of_far[other]) = (Some(other), Some(one));
            }
        }
    }
    let longest =
        of_near.iter().enumerate().filter_map(|(one, other)| Some(far[(*other)?].time - near[one].time)).max();
    let mut fates: Vec<Fate> = of_near.iter().map(|other| other.map_or(Fate::Unknown, Fate::Arrived)).collect();
    if let (Some(least), Some(longest)) = (least, longest) {
        let mut rest = Rest::new(near, far, &of_near, &of_far);
        for one in 0..near.len() {
            let time = near[one].time;
            if fates[one] == Fate::Unknown
                && time.saturating_add(least) >= known.0
                && time.saturating_add(longest) <= known.1
            {
                fates[one] = rest.fate(one, least);
            }
        }
        return Pairing { fates, least: Some(least), strangers: rest.strangers() };
    }
    Pairing { fates, least, strangers: (0..far.len()).filter(|&other| of_far[other].is_none()).collect() }
}

/// Returns the numbers of unpaired packets at both places, by what they have in common; in the order of time.
fn groups(
    near: &[Sighting],
    far: &[Sighting],
    of_near: &[Option<usize>],
    of_far: &[Option<usize>],
    key: impl Fn(&Mark) -> Option<Mark>,
) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> {
    let mut found = BTreeMap::<Mark, (Vec<usize>, Vec<usize>)>::new();
    for (number, sighting) in near.iter().enumerate().filter(|(number, _)| of_near[*number].is_none()) {
        if let Some(key) = key(&sighting.mark) {
            found.entry(key).or_default().0.push(number);
        }
    }
    for (number, sighting) in far.iter().enumerate().filter(|(number, _)| of_far[*number].is_none()) {
        if let Some(group) = key(&sighting.mark).and_then(|key| found.get_mut(&key)) {
            group.1.push(number);
        }
    }
    found.into_values()
}

/// Pairs packets that look alike: in their order if none is missing, else from the last on with the latest that can be.
fn alike(here: &[usize], there: &[usize], can_be: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    if here.len() == there.len() {
        return here.iter().copied().zip(there.iter().copied()).collect();
    }
    let mut left = here.iter().rev();
    let later = there.iter().rev();
    later.filter_map(|&other| Some((*left.find(|&&one| can_be(one, other))?, other))).collect()
}

/// Packets that are unlike any of the other place: those that a card took apart, or put together.
struct Rest<'a> {
    near: &'a [Sighting],
    far: &'a [Sighting],
    /// Numbers of the packets at the far place, in the order of time, and whether each was found to be octets of others.
    there: Vec<(usize, bool)>,
    /// When octets of each unpaired packet of the near place leave again.
    again: BTreeMap<usize, i64>,
}

impl<'a> Rest<'a> {
    fn new(near: &'a [Sighting], far: &'a [Sighting], of_near: &[Option<usize>], of_far: &[Option<usize>]) -> Self {
        let there = (0..far.len()).filter(|&other| of_far[other].is_none()).map(|other| (other, false)).collect();
        let mut again = BTreeMap::new();
        let mut next = BTreeMap::<u32, i64>::new();
        for one in (0..near.len()).rev().filter(|&one| of_near[one].is_none() && near[one].mark.length > 0) {
            let Mark { sequence, length, .. } = near[one].mark;
            let behind = next.range(sequence..=sequence.saturating_add(length - 1)).map(|(_, &time)| time).min();
            if let Some(time) = behind {
                again.insert(one, time);
            }
            next.insert(sequence, near[one].time);
        }
        Rest { near, far, there, again }
    }

    /// Returns the fate of a packet by its octets: they may have come in larger or smaller packets.
    fn fate(&mut self, one: usize, least: i64) -> Fate {
        let Sighting { mark, time } = self.near[one];
        if mark.length == 0 {
            return Fate::Lost;
        }
        let until = self.again.get(&one).map_or(i64::MAX, |again| again.saturating_add(least));
        let from = time.saturating_add(least);
        let first = self.there.partition_point(|&(other, _)| self.far[other].time < from);
        let mut missing = vec![(0, i64::from(mark.length))];
        let mut last = None;
        for (other, is_used) in self.there[first..].iter_mut().take(MOST_LOOKED_AT) {
            let sighting = self.far[*other];
            if sighting.time >= until || missing.is_empty() {
                break;
            }
            let start = i64::from(sighting.mark.sequence.wrapping_sub(mark.sequence) as i32);
            let end = start + i64::from(sighting.mark.length);
            if end > 0 && start < i64::from(mark.length) {
                *is_used = true;
                last = Some(*other);
                let outside = |&(from, to): &(i64, i64)| [(from, to.min(start)), (from.max(end), to)];
                missing = missing.iter().flat_map(outside).filter(|(from, to)| from < to).collect();
            }
        }
        match last {
            Some(other) if missing.is_empty() => Fate::Arrived(other),
            Some(_) => Fate::Unknown,
            None => Fate::Lost,
        }
    }

    fn strangers(&self) -> Vec<usize> {
        self.there.iter().filter(|(_, is_used)| !is_used).map(|&(other, _)| other).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sighting(sequence: u32, length: u32, time: i64) -> Sighting {
        Sighting { mark: Mark { sequence, length, rest: (0, 0, 16), stamps: None, identification: None }, time }
    }

    /// A packet of three segments that a card takes apart arrives with the last of them; without one of them nobody knows.
    #[test]
    fn bundles_arrive_by_their_octets() {
        let near =
            [sighting(0, 10, 0), sighting(10, 30, 5), sighting(40, 30, 6), sighting(70, 10, 7), sighting(80, 10, 50)];
        let far = [(0, 10, 100), (10, 10, 105), (20, 10, 106), (30, 10, 107), (50, 10, 108), (80, 10, 150)];
        let far = far.map(|(sequence, length, time)| sighting(sequence, length, time));
        let pairing = pair(&near, &far, (0, 1000));
        let fates = [Fate::Arrived(0), Fate::Arrived(3), Fate::Unknown, Fate::Lost, Fate::Arrived(5)];
        assert_eq!((&pairing.fates[..], pairing.least, &pairing.strangers[..]), (&fates[..], Some(100), &[][..]));
        // And put together, once all have come.
        let late = |one: Sighting| Sighting { time: one.time + 1000 + i64::from(one.mark.length > 10) * 3, ..one };
        let pairing = pair(&far, &near.map(late), (0, 2000));
        assert_eq!(pairing.fates[1..4], [Fate::Arrived(1); 3]);
    }

    /// Beyond the time in which the far place is known, nothing is said to be lost.
    #[test]
    fn what_the_far_capture_cannot_have_is_not_lost() {
        let near = [0, 10, 20, 30].map(|time| sighting(time as u32 * 10, 10, time));
        let far = [sighting(100, 10, 15)];
        let known = |known| pair(&near, &far, known).fates;
        assert_eq!(known((15, 25)), [Fate::Unknown, Fate::Arrived(0), Fate::Lost, Fate::Unknown]);
        assert_eq!(known((0, 100)), [Fate::Lost, Fate::Arrived(0), Fate::Lost, Fate::Lost]);
    }

    proptest! {
        /// Of segments that are sent once and keep their order, each that was lost is found, and each arrival, whatever the clocks.
        #[test]
        fn losses_are_those_of_the_path(lost in prop::collection::vec(any::<bool>(), 3..60), clock in -1_000_000..1_000_000_i64) {
            let near: Vec<_> = (0..lost.len()).map(|n| sighting(n as u32 * 100, 100, n as i64 * 7)).collect();
            let came: Vec<usize> = (0..lost.len()).filter(|&n| !lost[n] || n == 0).collect();
            let far: Vec<_> = came.iter().map(|&n| sighting(n as u32 * 100, 100, n as i64 * 7 + 50 + clock)).collect();
            let pairing = pair(&near, &far, (i64::MIN, i64::MAX));
            prop_assert_eq!(pairing.least, Some(50 + clock));
            for (n, fate) in pairing.fates.iter().enumerate() {
                let place = came.iter().position(|&one| one == n);
                prop_assert_eq!(*fate, place.map_or(Fate::Lost, Fate::Arrived));
            }
        }
    }
}
