//! Differences between two stacks' packets to the same peer.

use std::fmt::{Debug, Display};
use vazao_engine::Duration;

/// Class of differences between two stacks.
pub trait Class: Copy + Debug + Ord + Send {
    /// One sends a piece more.
    const COUNT: Self;

    /// Returns whether what follows cannot be compared any more.
    fn parts(self) -> bool;
}

/// Piece that is compared: a segment, or a packet of chunks.
pub trait Piece: Display + Sized {
    /// Class of its differences.
    type Class: Class;

    /// Returns the time of its arrival since the first one.
    fn at(&self) -> Duration;

    /// Returns the class in which the first piece of ours differs from the kernel's first, where both have one; `gaps`
    /// are the times since the pieces before them. `None` where neither it nor what follows can be compared.
    fn compare(ours: &[Self], linux: &[Self], gaps: [Duration; 2]) -> Option<Vec<Self::Class>>;

    /// Returns whether one that only one stack has sent is a difference.
    fn counts(&self) -> bool {
        true
    }
}

/// The first difference of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<C> {
    /// Class.
    pub class: C,
    /// Number of the piece.
    pub number: usize,
}

/// Returns the first difference of each class, until one after which nothing can be compared.
pub fn differences<P: Piece>(ours: &[P], linux: &[P]) -> Vec<Difference<P::Class>> {
    let mut found: Vec<Difference<P::Class>> = Vec::new();
    let mut before = [Duration::ZERO; 2];
    let both = ours.len().min(linux.len());
    for number in 0..both {
        let [one, other] = [ours[number].at(), linux[number].at()];
        let gaps = [one.saturating_sub(before[0]), other.saturating_sub(before[1])];
        before = [one, other];
        let Some(classes) = P::compare(&ours[number..], &linux[number..], gaps) else { return found };
        for class in classes {
            if !found.iter().any(|known| known.class == class) {
                found.push(Difference { class, number });
            }
            if class.parts() {
                return found;
            }
        }
    }
    if ours.get(both).or(linux.get(both)).is_some_and(P::counts) {
        found.push(Difference { class: P::Class::COUNT, number: both });
    }
    found
}
