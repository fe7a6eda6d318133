//! Multipath QUIC (RFC 10069): lifecycle of paths. The client opens a path on each of its interfaces that lead to the
//! server once the handshake is confirmed; it is validated, and abandoned when the interface goes.

use super::path::Stage;
use super::schedule::PathScheduling;
use super::*;
use crate::quic::identifiers::ACTIVE;

/// Highest path identifier that an endpoint allows initially (initial_max_path_id), and ever. Each abandoned path
/// raises the limit by one.
pub const MAX_PATH_ID: u8 = 7;
const MAX_PATHS: u8 = 63;
/// Connection IDs issued per path.
const IDENTIFIERS: usize = ACTIVE / 2;
/// Delay before another attempt to open a path, doubled each time.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// PATH_UNSTABLE_OR_POOR, the reason for abandoning a path.
const UNSTABLE: u64 = 0x3e76;

/// Multipath state of a connection, besides its paths.
pub(super) struct MultipathState {
    pub scheduling: PathScheduling,
    /// Highest path identifier that we allow the peer, and that the peer allows us.
    granted: u8,
    allowed: u8,
    /// Per client interface: failed attempts to open a path, and time of the next attempt.
    tries: Vec<(u32, Time)>,
}

impl MultipathState {
    pub fn new(scheduling: PathScheduling) -> MultipathState {
        MultipathState { scheduling, granted: MAX_PATH_ID, allowed: MAX_PATH_ID, tries: vec![(0, Time::ZERO)] }
    }
}

impl Connection {
    /// Sets the number of client interfaces that lead to the server; multipath uses them all.
    pub fn set_interfaces(&mut self, count: u8) {
        if let Some(multipath) = &mut self.multipath {
            multipath.tries = vec![(0, Time::ZERO); usize::from(count)];
        }
    }

    /// Creates all paths that may be used, and issues connection IDs for them.
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

    /// Issues connection IDs for a path up to the peer's limit.
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
    pub(super) fn can_send(&self, path: &Path) -> bool {
        matches!(path.stage, Stage::Opening | Stage::Open) && self.addresses.is_available(path.address.interface)
    }

    /// Whether a path can carry data.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        path.stage == Stage::Open && self.addresses.is_available(path.address.interface)
    }

    /// Opens a path on each interface of the client that has none.
    pub(super) fn manage_paths(&mut self, now: Time) {
        let Some(multipath) = &self.multipath else { return };
        if self.role == Role::Server || !self.progress.confirmed || self.life != Life::Open {
            return;
        }
        for interface in 0..multipath.tries.len() as u8 {
            let is_used = |path: &Path| {
                path.address.interface == interface && !matches!(path.stage, Stage::Reserved | Stage::Abandoned)
            };
            if !self.paths.iter().any(is_used)
                && self.addresses.is_available(interface)
                && self.tries()[usize::from(interface)].1 <= now
            {
                self.open_path(now, interface);
            }
        }
    }

    fn tries(&mut self) -> &mut [(u32, Time)] {
        self.multipath.as_mut().map_or(&mut [], |multipath| &mut multipath.tries)
    }

    /// Time of the next attempt to open a path.
    pub(super) fn next_try(&self) -> Time {
        let tries = self.multipath.iter().flat_map(|multipath| (0..).zip(&multipath.tries));
        let waiting = tries.filter(|(interface, (_, at))| *at > Time::ZERO && self.addresses.is_available(*interface));
        waiting.map(|(_, &(_, at))| at).min().unwrap_or(Time::NEVER)
    }

    /// Opens the first unused path, as soon as it has connection IDs. (Paths are used in order.)
    fn open_path(&mut self, now: Time, interface: u8) {
        self.tries()[usize::from(interface)].1 = Time::ZERO;
        let Some(number) = self.paths.iter().position(|path| path.stage == Stage::Reserved) else { return };
        let backup = self.config.backups.contains(&(u64::from(interface) + 1));
        let address = self.addresses.nat.of(interface);
        let path = &mut self.paths[number];
        if !path.identifiers.begin() {
            return;
        }
        (path.stage, path.address, path.backup) = (Stage::Opening, address, backup);
        if backup {
            self.send_status(number);
        }
        self.tries()[usize::from(interface)].1 = Time::NEVER;
        self.start_validation(now, number, address);
    }

    /// Handles the client's use of an unvalidated path from this address.
    #[cold]
    pub(super) fn on_opened(&mut self, now: Time, number: usize, from: Address) {
        let path = &mut self.paths[number];
        if !matches!(path.stage, Stage::Reserved | Stage::Opening) || path.validation.is_some() {
            return;
        }
        // Without a connection ID of the client there is no way to answer; the client will repeat its challenge.
        if path.identifiers.begin() {
            if path.stage == Stage::Reserved {
                (path.stage, path.address) = (Stage::Opening, from);
            }
            let address = path.address;
            self.start_validation(now, number, address);
        }
    }

    /// Completes validation of a path.
    pub(super) fn on_validated(&mut self, now: Time, number: usize) {
        self.end_validation(number);
        let path = &mut self.paths[number];
        if path.stage == Stage::Opening {
            path.stage = Stage::Open;
            path.control.on_established(Some(path.recovery.rtt.latest()).filter(|_| path.recovery.is_measured()));
            path.follow_control();
            let interface = usize::from(path.address.interface);
            if self.role == Role::Client {
                self.tries()[interface] = (0, Time::NEVER);
            }
        }
        self.arm(now, number);
        self.reassign_unresponsive();
        // An unavailable path was kept while it was the last.
        self.abandon_lost(now);
    }

    /// Handles failed validation of a path being opened: the client abandons it and tries again later. The server
    /// starts again when the client does.
    pub(super) fn on_unanswered(&mut self, now: Time, number: usize) {
        self.paths[number].validation = None;
        if self.role == Role::Client {
            let interface = usize::from(self.paths[number].address.interface);
            self.abandon(now, number);
            let (count, at) = &mut self.tries()[interface];
            *at = now + RETRY_DELAY * (1 << (*count).min(10));
            *count += 1;
        }
        self.change_at = self.next_change();
    }

    /// Abandons a path (section 3.4); its outstanding data goes to the others.
    fn abandon(&mut self, now: Time, number: usize) {
        let path = &mut self.paths[number];
        if path.stage == Stage::Abandoned {
            return;
        }
        path.stage = Stage::Abandoned;
        (path.validation, path.timer, path.release) = (None, Time::NEVER, Time::NEVER);
        path.answers.clear();
        path.acks[Space::Data as usize].ack_now(now);
        let outstanding = path.recovery.space(Space::Data).take_outstanding();
        let queue = std::mem::take(&mut path.queue);
        outstanding.into_iter().for_each(|sent| self.requeue_content(sent));
        queue.into_iter().for_each(|frame| self.requeue(Frame::Stream(frame), Space::Data));
        self.frames.push_back(Frame::PathAbandon { path: number as u8, code: UNSTABLE });
        if let Some(multipath) = &mut self.multipath
            && multipath.granted < MAX_PATHS
        {
            multipath.granted += 1;
            self.frames.push_back(Frame::MaxPathId(multipath.granted));
        }
        self.reserve_paths();
    }

    pub(super) fn remove_interface(&mut self, now: Time, interface: u8) {
        self.addresses.set_available(interface, false);
        self.abandon_lost(now);
    }

    /// Abandons paths on removed interfaces, unless no other is open.
    fn abandon_lost(&mut self, now: Time) {
        if self.paths.iter().any(|path| self.is_open(path)) {
            for number in 0..self.paths.len() {
                let path = &self.paths[number];
                if matches!(path.stage, Stage::Opening | Stage::Open)
                    && !self.addresses.is_available(path.address.interface)
                {
                    self.abandon(now, number);
                }
            }
        }
    }

    pub(super) fn restore_interface(&mut self, now: Time, interface: u8) {
        self.addresses.set_available(interface, true);
        if let Some(tried) = self.tries().get_mut(usize::from(interface)) {
            *tried = (0, Time::ZERO);
        }
        self.manage_paths(now);
    }

    /// Changes the backup status of the paths on an interface.
    pub(super) fn set_backup(&mut self, interface: u8, backup: bool) {
        for number in 0..self.paths.len() {
            let path = &mut self.paths[number];
            if path.address.interface == interface
                && matches!(path.stage, Stage::Opening | Stage::Open)
                && path.backup != backup
            {
                path.backup = backup;
                self.send_status(number);
            }
        }
    }

    fn send_status(&mut self, number: usize) {
        let path = &mut self.paths[number];
        path.statuses.0 += 1;
        let frame = Frame::PathStatus { path: number as u8, number: path.statuses.0, backup: path.backup };
        self.frames.push_back(frame);
    }

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
                // If it was the last path, the connection is silent until the client opens another (section 3.4).
                self.abandon(now, usize::from(path));
            }
            _ => {}
        }
    }
}
