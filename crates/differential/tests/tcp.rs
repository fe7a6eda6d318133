//! Our TCP beside the kernel's before the same peers. Skipped where no kernel is named by VAZAO_KERNEL.

mod shared;

use shared::{agrees_with_itself, ratchet};
use vazao_differential::tcp::Case;
use vazao_differential::tcp::compare::Class;

const CASES: u64 = 200;

/// In how many of the cases ours first differs in what: a census of what is not mended yet (docs/linux-guests.md names the
/// mechanisms), and a bound that falls with each mend, but where cases run further for it. A case may differ in several.
const KNOWN: &[(Class, usize)] = &[
    (Class::Count, 1),
    (Class::Time, 11),
    (Class::Push, 7),
    (Class::Sequence, 6),
    (Class::Length, 4),
    (Class::Window, 8),
    (Class::Offers, 1),
    (Class::Echo, 8),
    (Class::Blocks, 3),
];

#[test]
fn our_segments_are_the_kernels() {
    ratchet::<Case>(CASES, KNOWN);
}

/// The kernel sends the same to the same peer each time: what is compared is not chance.
#[test]
fn a_kernel_agrees_with_itself() {
    agrees_with_itself::<Case>();
}
