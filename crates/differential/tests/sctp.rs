//! Our SCTP beside the kernel's before the same peers. Skipped where no kernel is named by VAZAO_KERNEL.

mod shared;

use shared::{agrees_with_itself, ratchet};
use vazao_differential::sctp::Case;
use vazao_differential::sctp::compare::Class;

const CASES: u64 = 200;

/// In how many of the cases ours first differs in what: a census of what is not mended yet (docs/linux-guests.md names the
/// mechanisms), and a bound that only falls. A case may differ in several.
const KNOWN: &[(Class, usize)] = &[
    (Class::Time, 1),
    (Class::Kinds, 8),
    (Class::Tsn, 1),
    (Class::Cumulative, 2),
    (Class::Causes, 16),
    (Class::Window, 2),
];

#[test]
fn our_chunks_are_the_kernels() {
    ratchet::<Case>(CASES, KNOWN);
}

/// The kernel sends the same to the same peer each time: what is compared is not chance.
#[test]
fn a_kernel_agrees_with_itself() {
    agrees_with_itself::<Case>();
}
