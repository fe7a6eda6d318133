//! SFR-CACC (Iyengar and others, draft-iyengar-sctp-cacc-03): split fast retransmit for an association that changes over
//! from one path to another while data is under way. What left later by the new path may arrive first, and is no sign that
//! what left earlier by the old one is lost.

/// What a path knows of the changes to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changeover {
    /// CHANGEOVER_ACTIVE: what was sent before the change to this path is not all acknowledged.
    pub active: bool,
    /// CYCLING_CHANGEOVER: the association had been here before, and came back in that state.
    pub cycling: bool,
    /// next_tsn_at_change.
    pub next: u64,
}

impl Changeover {
    /// New data goes by this path from TSN `next` on.
    pub fn begin(&mut self, next: u64) {
        *self = Changeover { active: true, cycling: self.active, next };
    }

    /// Whether a SACK says nothing of the loss of TSN `tsn`, last sent by a path that is the `current` one or not and that
    /// `saw` a new acknowledgement or not, where `paths` paths saw one. Asked of the current path.
    pub fn excuses(&self, tsn: u64, current: bool, saw: bool, paths: usize) -> bool {
        let mixed = if paths >= 2 { !current } else { !saw };
        self.active && if self.cycling { tsn < self.next } else { mixed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draft's steps 3.1 and 3.2, case by case.
    #[test]
    fn reports_are_excused_as_the_draft_says() {
        let mut change = Changeover::default();
        assert!(!change.excuses(5, false, false, 1), "before any change everything is reported");
        change.begin(10);
        // New acknowledgements on two paths: only the new path's chunks are reported.
        assert!(change.excuses(5, false, true, 2) && !change.excuses(11, true, true, 2));
        // On one path: that one's are.
        assert!(change.excuses(5, false, false, 1) && !change.excuses(5, false, true, 1));
        change.begin(20);
        // There and back before all was acknowledged: nothing from before the last change is.
        assert!(change.excuses(19, true, true, 1) && !change.excuses(20, true, true, 1));
    }
}
