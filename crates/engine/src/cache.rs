//! Memory that will be needed soon.

use prefetch_index::prefetch_index;

/// Has the processor fetch the first cache line of a value while other work goes on.
///
/// Where thousands of flows take turns, what an event needs has left the cache since its flow's last turn. Waiting for
/// one line of memory takes as long as hundreds of instructions; several can be fetched at once.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_element(std::slice::from_ref(value), 0);
}

/// Has the processor fetch the first cache line of an element; one that is not there is ignored.
#[inline(always)]
pub fn fetch_element<T>(values: &[T], index: usize) {
    prefetch_index(values, index);
}
