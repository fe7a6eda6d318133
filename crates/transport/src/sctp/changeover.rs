//! SFR-CACC (Iyengar and others, draft-iyengar-sctp-cacc-03): split fast retransmit for an association that changes to
//! another path while data is in flight. Data sent later on the new path may arrive first, which does not mean that
//! data sent earlier on the old path is lost.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changeover {
    /// CHANGEOVER_ACTIVE: data sent before the change to this path is not fully acknowledged.
    pub active: bool,
    /// CYCLING_CHANGEOVER: the association had used this path before and returned during an active changeover.
    pub cycling: bool,
    /// next_tsn_at_change.
    pub next: u64,
}

impl Changeover {
    /// Begins a changeover: new data is sent on this path from TSN `next` on.
    pub fn begin(&mut self, next: u64) {
        *self = Changeover { active: true, cycling: self.active, next };
    }

    /// Whether a SACK must not count as a missing report for `tsn`: `current` says whether it was last sent on the
    /// current path, `saw` whether that path has newly acknowledged data, and `paths` how many paths have. Called on
    /// the current path.
    pub fn suppresses_report(&self, tsn: u64, current: bool, saw: bool, paths: usize) -> bool {
        let mixed = if paths >= 2 { !current } else { !saw };
        self.active && if self.cycling { tsn < self.next } else { mixed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps 3.1 and 3.2 of the draft, case by case.
    #[test]
    fn reports_are_suppressed_as_in_the_draft() {
        let mut change = Changeover::default();
        assert!(!change.suppresses_report(5, false, false, 1), "before any change everything is reported");
        change.begin(10);
        // New acknowledgements on two paths: only the new path's chunks are reported.
        assert!(change.suppresses_report(5, false, true, 2) && !change.suppresses_report(11, true, true, 2));
        // On one path: only that path's are.
        assert!(change.suppresses_report(5, false, false, 1) && !change.suppresses_report(5, false, true, 1));
        change.begin(20);
        // Changed back before everything was acknowledged: nothing from before the last change is.
        assert!(change.suppresses_report(19, true, true, 1) && !change.suppresses_report(20, true, true, 1));
    }
}
