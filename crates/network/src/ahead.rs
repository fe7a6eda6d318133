//! Movements ahead of time: where nothing can come between, a packet costs no event.
//!
//! When a packet enters a link whose queue is drop-tail and whose wire does nothing to it, it is known to the nanosecond when it
//! leaves. If the next link gets packets from this one only, their order there is known too, and a packet passes both in one step.
//! An end that receives over one such link and is alone on the link it sends on depends on that link's packets and its own timers
//! only: it may handle them before the rest of the run gets there.
//!
//! No result depends on it. The order of events names no history (see [`vazao_engine::EventScheduler`]), so that an event that is
//! left out moves no other, and nothing moves beyond the *horizon*, before which nobody looks at the network and the run cannot
//! end.

use crate::network::{AHEAD, END, LinkId, Network, RouteId};
use vazao_engine::Time;

/// Way of packets from one end to another.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Its links.
    pub route: RouteId,
    /// End that sends, as a number of the caller's choice.
    pub from: u32,
    /// End that receives: [`Outgoing::to`](crate::Outgoing::to) of the packets.
    pub to: u32,
    /// Whether the receiving end acts on its packets and timers alone, and concerns no other end.
    pub is_isolated: bool,
}

/// The one number that was noted, unless there were several.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Only {
    #[default]
    None,
    One(u32),
    Several,
}

impl Only {
    fn note(&mut self, number: u32) {
        *self = match *self {
            Only::None => Only::One(number),
            known if known == Only::One(number) => known,
            _ => Only::Several,
        };
    }
}

/// Traffic of a link.
#[derive(Clone, Copy, Default)]
struct Traffic {
    /// Ends that send their packets on it.
    started_by: Only,
    /// Links whose packets it gets.
    fed_by: Only,
    /// Ends whose packets have arrived behind it.
    ends_at: Only,
    /// Whether it feeds other links.
    feeds: bool,
}

impl<B: Copy> Network<B> {
    /// Looks for links that packets may enter, and ends that may receive them, ahead of time. Call it with all paths on which packets
    /// will be sent, before any is.
    pub fn look_ahead(&mut self, paths: &[Path]) {
        let traffic = self.traffic(paths);
        let is_plain = |only| matches!(only, Only::One(link) if self.links[link as usize].is_plain());
        let follows = |link: LinkId| {
            let Traffic { started_by, fed_by, .. } = traffic[link as usize];
            started_by == Only::None && is_plain(fed_by) && self.links[link as usize].is_plain()
        };
        let linked = |&(_, link): &(usize, &LinkId)| *link != END && follows(*link);
        let mut entries: Vec<usize> = self.routes.iter().enumerate().filter(linked).map(|(place, _)| place).collect();
        let lone = self.lone_ends(paths, &traffic);
        for path in paths.iter().filter(|path| lone.get(path.to as usize) == Some(&true)) {
            entries.push(path.route as usize + self.route(path.route).len());
        }
        entries.into_iter().for_each(|place| self.routes[place] |= AHEAD);
    }

    /// Allows movements ahead of time up to `horizon`: the run does not end before, and nobody looks at the network. Without
    /// [`look_ahead`](Self::look_ahead) there are none.
    pub fn set_horizon(&mut self, horizon: Time) {
        self.horizon = horizon.as_nanos();
    }

    /// Returns the lowest rate of the links of a route, in bits per second; `None`: one of them varies.
    pub fn slowest(&self, route: RouteId) -> Option<u64> {
        let rates = self.route(route).iter().map(|link| self.links[(link & !AHEAD) as usize].rate());
        rates.reduce(|a, b| Some(a?.min(b?))).flatten()
    }

    pub(crate) fn route(&self, route: RouteId) -> &[u32] {
        let links = &self.routes[route as usize..];
        links.split(|link| link & !AHEAD == END).next().unwrap_or(links)
    }

    fn traffic(&self, paths: &[Path]) -> Vec<Traffic> {
        let mut traffic = vec![Traffic::default(); self.links.len()];
        for path in paths {
            let links = self.route(path.route);
            for pair in links.windows(2) {
                traffic[pair[0] as usize].feeds = true;
                traffic[pair[1] as usize].fed_by.note(pair[0]);
            }
            if let [first, .., last] | [first @ last] = links {
                traffic[*first as usize].started_by.note(path.from);
                traffic[*last as usize].ends_at.note(path.to);
            }
        }
        traffic
    }

    /// Returns for each end whether it depends on the packets of one link and its own timers only.
    fn lone_ends(&self, paths: &[Path], traffic: &[Traffic]) -> Vec<bool> {
        let count = paths.iter().map(|path| path.from.max(path.to) as usize + 1).max().unwrap_or(0);
        // Numbers of paths from and to each end: of those that it has for itself, and of all.
        let mut own = vec![[0_u32; 2]; count];
        let mut all = vec![[0_u32; 2]; count];
        for path in paths {
            let links = self.route(path.route);
            let (Some(&first), Some(&last)) = (links.first(), links.last()) else { continue };
            let (start, end) = (traffic[first as usize], traffic[last as usize]);
            let sends = start.started_by == Only::One(path.from) && start.fed_by == Only::None;
            let sends = sends && !self.links[first as usize].serves();
            // Where a packet takes no time, a timer may come before or after what another one of the same time sends.
            let sends = sends && links.iter().any(|link| self.links[(link & !AHEAD) as usize].takes_time());
            let receives = end.ends_at == Only::One(path.to) && !end.feeds && path.is_isolated;
            let receives = receives && self.links[last as usize].is_plain();
            own[path.from as usize][0] += u32::from(sends);
            own[path.to as usize][1] += u32::from(receives);
            all[path.from as usize][0] += 1;
            all[path.to as usize][1] += 1;
        }
        own.iter().zip(&all).map(|(own, all)| own == &[1, 1] && all == &[1, 1]).collect()
    }
}
