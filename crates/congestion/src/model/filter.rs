//! The greatest of recent values.

/// The greatest value of a sliding window, in constant space and time (K. Nichols' algorithm, Linux's `lib/win_minmax.c`):
/// the best, the best since then and the best since that one, each in a later part of the window, so that there is a
/// successor when one leaves it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax {
    /// Time at which each was seen, in whatever unit the window has, and its value.
    best: [(u64, f64); 3],
}

impl WindowedMax {
    /// Returns the greatest value.
    pub fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes a value seen at `at`, never earlier than the last one.
    pub fn update(&mut self, window: u64, at: u64, value: f64) {
        let new = (at, value);
        let [first, second, third] = &mut self.best;
        if value >= first.1 || at - third.0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        let age = at - first.0;
        if age > window {
            // The second choice may have been as old.
            for _ in 0..2 {
                if at - self.best[0].0 > window {
                    self.best = [self.best[1], self.best[2], new];
                }
            }
        } else if second.0 == first.0 && age > window / 4 {
            // A quarter has passed without a second choice, or a half without a third: take one from what is left.
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never below the last value, nor above the greatest of the window. Between them it is an estimate: three choices
        /// cannot remember every successor.
        #[test]
        fn it_lies_between_the_last_value_and_the_exact_maximum(values in prop::collection::vec((0u64..4, 0.0..100.0), 1..200)) {
            const WINDOW: u64 = 20;
            let mut filter = WindowedMax::default();
            let (mut at, mut seen) = (0, Vec::new());
            for (step, value) in values {
                at += step;
                seen.push((at, value));
                filter.update(WINDOW, at, value);
                let recent = seen.iter().filter(|(t, _)| at - t <= WINDOW).map(|(_, v)| *v);
                prop_assert!(filter.get() <= recent.fold(0.0, f64::max));
                prop_assert!(filter.get() >= value);
            }
        }
    }

    #[test]
    fn a_maximum_is_forgotten_after_its_window() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100.0);
        for at in 1..=10 {
            filter.update(10, at, 50.0);
            assert_eq!(filter.get(), 100.0);
        }
        filter.update(10, 11, 50.0);
        assert_eq!(filter.get(), 50.0);
    }
}
