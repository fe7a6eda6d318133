//! Several paths of one connection (RFC 10069): which there are. Each of the client's interfaces that leads to the server has one,
//! opened by the client once the handshake is confirmed, validated, and abandoned when the interface goes.

use super::schedule::Spread;
use super::*;
use crate::quic::identifiers::ACTIVE;

/// The highest identifier of a path that an endpoint lets be used at first (initial_max_path_id), and ever. For each that is
/// abandoned there is another.
pub const MAX_PATH_ID: u8 = 7;
const MOST: u8 = 63;
/// Identifiers that a side issues for each path.
const IDENTIFIERS: usize = ACTIVE / 2;
/// How long after a path could not be opened it is tried again; twice as long each time.
const AGAIN: Duration = Duration::from_secs(1);
/// PATH_UNSTABLE_OR_POOR, why a path is abandoned.
const UNSTABLE: u64 = 0x3e76;

/// How far a path has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its identifier was not used so far.
    Reserved,
    /// It is being validated.
    Opening,
    Open,
    /// Nothing is sent on it any more; its identifier is not used again.
    Abandoned,
}

/// What a connection of several paths knows beside its paths.
pub(super) struct Multipath {
    pub spread: Spread,
    /// The highest identifier of a path that we let the peer use, and it us.
    granted: u8,
    allowed: u8,
    /// Of each of the client's ways: how often no path could be opened over it, and when it is tried again.
    tries: Vec<(u32, Time)>,
}

impl Multipath {
    pub fn new(spread: Spread) -> Multipath {
        Multipath { spread, granted: MAX_PATH_ID, allowed: MAX_PATH_ID, tries: vec![(0, Time::ZERO)] }
    }
}

impl Connection {
    /// The client has so many interfaces that lead to the server: with several paths it uses them all.
    pub fn use_ways(&mut self, count: u8) {
        if let Some(multipath) = &mut self.multipath {
            multipath.tries = vec![(0, Time::ZERO); usize::from(count)];
        }
    }

    /// Identifiers are issued for each path that there may be.
    pub(super) fn reserve_paths(&mut self) {
        let Some(multipath) = &self.multipath else { return };
        let most = usize::from(multipath.granted.min(multipath.allowed));
        while self.paths.len() <= most {
            let seed = self.seed.wrapping_add(self.paths.len() as u64);
            self.paths.push(Path::reserved(self.config.clone(), self.role, seed));
        }
        for path in 1..self.paths.len() {
            self.issue_identifiers(path);
        }
    }

    /// The peer gets as many identifiers for a path as it may have.
    pub(super) fn issue_identifiers(&mut self, path: usize) {
        let issuing = &mut self.paths[path];
        if issuing.stage == Stage::Abandoned {
            return;
        }
        while let Some(number) = issuing.identifiers.issue(if path == 0 { ACTIVE } else { IDENTIFIERS }) {
            self.frames.push_back(match path {
                0 => Frame::NewConnectionId(number, 0),
                _ => Frame::PathNewConnectionId { path: path as u8, number },
            });
        }
    }

    /// Whether anything may be sent on a path.
    #[inline]
    pub(super) fn speaks(&self, path: &Path) -> bool {
        matches!(path.stage, Stage::Opening | Stage::Open) && self.addresses.is_there(path.address.way)
    }

    /// Whether a path could carry data.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        path.stage == Stage::Open && self.addresses.is_there(path.address.way)
    }

    /// The client opens a path over each way that has none.
    pub(super) fn manage_paths(&mut self, now: Time) {
        let Some(multipath) = &self.multipath else { return };
        if self.role == Role::Server || !self.progress.confirmed || self.life != Life::Open {
            return;
        }
        for way in 0..multipath.tries.len() as u8 {
            let is_used =
                |path: &Path| path.address.way == way && !matches!(path.stage, Stage::Reserved | Stage::Abandoned);
            if !self.paths.iter().any(is_used)
                && self.addresses.is_there(way)
                && self.tries()[usize::from(way)].1 <= now
            {
                self.open_path(now, way);
            }
        }
    }

    fn tries(&mut self) -> &mut [(u32, Time)] {
        self.multipath.as_mut().map_or(&mut [], |multipath| &mut multipath.tries)
    }

    /// When a way is tried again.
    pub(super) fn next_try(&self) -> Time {
        let tries = self.multipath.iter().flat_map(|multipath| (0..).zip(&multipath.tries));
        let waiting = tries.filter(|(way, (_, at))| *at > Time::ZERO && self.addresses.is_there(*way));
        waiting.map(|(_, &(_, at))| at).min().unwrap_or(Time::NEVER)
    }

    /// Takes the first path into use that was not used; as soon as there are identifiers for it. (Paths are used in their order.)
    fn open_path(&mut self, now: Time, way: u8) {
        self.tries()[usize::from(way)].1 = Time::ZERO;
        let Some(number) = self.paths.iter().position(|path| path.stage == Stage::Reserved) else { return };
        let backup = self.config.multipath.as_ref().is_some_and(|given| given.backups.contains(&(u64::from(way) + 1)));
        let address = self.addresses.nat.of(way);
        let path = &mut self.paths[number];
        if !path.identifiers.begin() {
            return;
        }
        (path.stage, path.address, path.backup) = (Stage::Opening, address, backup);
        if backup {
            self.tell_status(number);
        }
        self.tries()[usize::from(way)].1 = Time::NEVER;
        self.start_trial(now, number, address);
    }

    /// The client uses a path that is not validated, from this address.
    #[cold]
    pub(super) fn on_opened(&mut self, now: Time, number: usize, from: Address) {
        let path = &mut self.paths[number];
        if !matches!(path.stage, Stage::Reserved | Stage::Opening) || path.trial.is_some() {
            return;
        }
        // Without an identifier of the client's nothing can be answered: it will ask again.
        if path.identifiers.begin() {
            if path.stage == Stage::Reserved {
                (path.stage, path.address) = (Stage::Opening, from);
            }
            let address = path.address;
            self.start_trial(now, number, address);
        }
    }

    /// The peer has answered at a path's address.
    pub(super) fn on_validated(&mut self, now: Time, number: usize) {
        self.end_trial(number);
        let path = &mut self.paths[number];
        if path.stage == Stage::Opening {
            path.stage = Stage::Open;
            path.control.on_established(Some(path.recovery.rtt.latest()).filter(|_| path.recovery.is_measured()));
            path.follow_control();
            let way = usize::from(path.address.way);
            if self.role == Role::Client {
                self.tries()[way] = (0, Time::NEVER);
            }
        }
        self.arm(now, number);
        self.take_over();
        // The last was kept while it was that.
        self.abandon_lost(now);
    }

    /// Nobody answers at the address of a path that is being opened: the client gives it up, and tries again later. The server asks
    /// again when it hears of it.
    pub(super) fn on_unanswered(&mut self, now: Time, number: usize) {
        self.paths[number].trial = None;
        if self.role == Role::Client {
            let way = usize::from(self.paths[number].address.way);
            self.abandon(now, number);
            let (count, at) = &mut self.tries()[way];
            *at = now + AGAIN * (1 << (*count).min(10));
            *count += 1;
        }
        self.change_at = self.next_change();
    }

    /// A path is given up (section 3.4): what is under way on it goes by others.
    fn abandon(&mut self, now: Time, number: usize) {
        let path = &mut self.paths[number];
        if path.stage == Stage::Abandoned {
            return;
        }
        path.stage = Stage::Abandoned;
        (path.trial, path.timer, path.release) = (None, Time::NEVER, Time::NEVER);
        path.answers.clear();
        path.acks[Space::Data as usize].hurry(now);
        let said = path.recovery.space(Space::Data).take_outstanding();
        let queue = std::mem::take(&mut path.queue);
        said.into_iter().for_each(|sent| self.on_missing(sent));
        queue.into_iter().for_each(|frame| self.miss(Frame::Stream(frame), Space::Data));
        self.frames.push_back(Frame::PathAbandon { path: number as u8, code: UNSTABLE });
        if let Some(multipath) = &mut self.multipath
            && multipath.granted < MOST
        {
            multipath.granted += 1;
            self.frames.push_back(Frame::MaxPathId(multipath.granted));
        }
        self.reserve_paths();
    }

    /// One of the client's interfaces goes.
    pub(super) fn lose_way(&mut self, now: Time, way: u8) {
        self.addresses.set_there(way, false);
        self.abandon_lost(now);
    }

    /// Paths over interfaces that are gone are abandoned, unless there is no other.
    fn abandon_lost(&mut self, now: Time) {
        if self.paths.iter().any(|path| self.is_open(path)) {
            for number in 0..self.paths.len() {
                let path = &self.paths[number];
                if matches!(path.stage, Stage::Opening | Stage::Open) && !self.addresses.is_there(path.address.way) {
                    self.abandon(now, number);
                }
            }
        }
    }

    /// It comes back.
    pub(super) fn regain_way(&mut self, now: Time, way: u8) {
        self.addresses.set_there(way, true);
        if let Some(tried) = self.tries().get_mut(usize::from(way)) {
            *tried = (0, Time::ZERO);
        }
        self.manage_paths(now);
    }

    /// Paths over an interface become backups, or are such no more.
    pub(super) fn set_backup(&mut self, way: u8, backup: bool) {
        for number in 0..self.paths.len() {
            let path = &mut self.paths[number];
            if path.address.way == way && matches!(path.stage, Stage::Opening | Stage::Open) && path.backup != backup {
                path.backup = backup;
                self.tell_status(number);
            }
        }
    }

    fn tell_status(&mut self, number: usize) {
        let path = &mut self.paths[number];
        path.statuses.0 += 1;
        let frame = Frame::PathStatus { path: number as u8, number: path.statuses.0, backup: path.backup };
        self.frames.push_back(frame);
    }

    /// Frames about paths.
    #[cold]
    pub(super) fn on_multipath(&mut self, now: Time, frame: Frame) {
        let Some(multipath) = &mut self.multipath else { return };
        match frame {
            Frame::MaxPathId(most) => {
                multipath.allowed = multipath.allowed.max(most);
                self.reserve_paths();
                self.manage_paths(now);
            }
            Frame::PathNewConnectionId { path, number } => {
                if let Some(path) = self.paths.get_mut(usize::from(path)) {
                    path.identifiers.on_new(number);
                    self.manage_paths(now);
                }
            }
            Frame::PathRetireConnectionId { path, number } if usize::from(path) < self.paths.len() => {
                self.paths[usize::from(path)].identifiers.on_retired(number);
                self.issue_identifiers(usize::from(path));
            }
            Frame::PathStatus { path, number, backup } => {
                if let Some(path) = self.paths.get_mut(usize::from(path)).filter(|path| number > path.statuses.1) {
                    (path.statuses.1, path.backup) = (number, backup);
                }
            }
            Frame::PathAbandon { path, .. } if usize::from(path) < self.paths.len() => {
                // If it was the last, the client may open another: until then there is silence (section 3.4).
                self.abandon(now, usize::from(path));
            }
            _ => {}
        }
    }
}
