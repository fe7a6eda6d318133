//! The engine in a page, which shares its memory.
//!
//! A page reserves memory for a request, writes it there as JSON, and reads the answer where [`run`] says. Memory that is
//! reserved or answered is the page's until it is released. The page gives the engine one function, `page.clock`, which is
//! told the time of a run in seconds while it goes on.

use crate::answer;
use std::sync::atomic::AtomicBool;
use vazao_engine::Time;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn clock(seconds: f64);
}

/// Bytes before an answer: its length.
const HEAD: usize = 8;

/// Reserves memory for a request of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Releases what was reserved or answered; an answer's length includes that of its head.
///
/// # Safety
/// `place` and `length` are those of memory that was reserved or answered, and not released so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(place: *mut u8, length: usize) {
    // SAFETY: a boxed slice of this length was given out there, as the caller promises.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(place, length)) });
}

/// Answers a [request](answer), which it releases. The answer begins with its own length in eight bytes, little-endian.
/// A page that no longer waits ends its worker, and the run with it.
///
/// # Safety
/// `place` and `length` are those of reserved memory, and not released so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(place: *mut u8, length: usize) -> *mut u8 {
    // SAFETY: a boxed slice of this length was reserved there, as the caller promises.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(place, length)) };
    let answer = answer(&request, &AtomicBool::new(false), &|now: Time| clock(now.as_secs()));
    let mut told = Vec::with_capacity(HEAD + answer.len());
    told.extend((answer.len() as u64).to_le_bytes());
    told.extend(answer);
    Box::into_raw(told.into_boxed_slice()).cast()
}
