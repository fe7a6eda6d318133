//! Split virtqueues (virtio 1.2, section 2.7), by which a guest and its card exchange buffers in the guest's memory. Nothing
//! that the guest writes there is trusted.

use crate::Problem;
use rustix::fd::AsFd;
use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU16, Ordering};

/// The largest number of descriptors of a queue: User Mode Linux has no more.
pub(crate) const SIZE: u16 = 256;

// Flags of a descriptor, of the guest's ring and of the card's.
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
const NO_INTERRUPT: u16 = 1;
const NO_NOTIFY: u16 = 1;

/// A guest's memory as mapped here.
pub(crate) struct Memory {
    base: NonNull<u8>,
    mapped: usize,
    /// The guest's address of the shared region, its offset in the mapping, and its length.
    region: (u64, u64, u64),
}

impl Memory {
    /// Maps `size` bytes that are at `offset` of `file`, and at `address` in the guest.
    pub fn map(file: impl AsFd, address: u64, size: u64, offset: u64) -> Result<Memory, Problem> {
        let refused = |what: &str| Problem::card(format!("its memory cannot be shared: {what}"));
        let mapped = offset.checked_add(size).filter(|end| *end <= 1 << 40).ok_or_else(|| refused("too large"))?;
        if address.checked_add(size).is_none() || fstat(&file).map_or(0, |f| f.st_size as u64) < mapped {
            return Err(refused("it lies beyond the end of its file"));
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice, wholly within the file. The guest's kernel never
        // makes that file shorter.
        let base = unsafe { mmap(null_mut(), mapped as usize, protection, MapFlags::SHARED, file, 0) };
        let base = base.map_err(|error| refused(&error.to_string()))?;
        let base = NonNull::new(base.cast()).expect("a mapping is not at address 0");
        Ok(Memory { base, mapped: mapped as usize, region: (address, offset, size) })
    }
    /// Returns where the `length` bytes at the guest's `address` are mapped.
    fn at(&self, address: u64, length: usize) -> Result<*mut u8, Problem> {
        let (start, offset, size) = self.region;
        let within = address.checked_sub(start).filter(|at| at.checked_add(length as u64).is_some_and(|e| e <= size));
        let Some(at) = within else {
            return Err(Problem::card(format!("{length} bytes at {address:#x} are not in its memory")));
        };
        // SAFETY: `at + length <= size` and `offset + size` is the length of the mapping.
        Ok(unsafe { self.base.as_ptr().add((offset + at) as usize) })
    }
    fn word(&self, address: u64) -> Result<&AtomicU16, Problem> {
        if !address.is_multiple_of(2) {
            return Err(Problem::card(format!("{address:#x} is odd")));
        }
        let pointer = self.at(address, 2)?;
        // SAFETY: `at` has checked that both bytes are within the mapping, which lives as long as `self`; a mapping begins
        // a page and its offset into the guest is even, so an even address is aligned.
        Ok(unsafe { AtomicU16::from_ptr(pointer.cast()) })
    }
    fn append(&self, address: u64, length: usize, to: &mut Vec<u8>) -> Result<(), Problem> {
        let from = self.at(address, length)?;
        to.reserve(length);
        // SAFETY: `from` is good for `length` bytes, as is what was just reserved, and all of them are written before the
        // length is raised. The guest sleeps, so nothing changes meanwhile; if it did, the bytes were arbitrary, no more.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(to.len()), length);
            to.set_len(to.len() + length);
        }
        Ok(())
    }
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Problem> {
        let to = self.at(address, bytes.len())?;
        // SAFETY: `to` is good for as many bytes; no Rust reference points into the mapping but to atomic words.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }
    fn read<const N: usize>(&self, address: u64) -> Result<[u8; N], Problem> {
        let from = self.at(address, N)?;
        let mut bytes = [0; N];
        // SAFETY: `from` is good for `N` bytes; `bytes` is not in the mapping.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), N) };
        Ok(bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, to which no reference outlives `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok());
    }
}

/// One descriptor: a piece of memory, and the next of its chain.
struct Descriptor {
    address: u64,
    length: usize,
    flags: u16,
    next: u16,
}

/// One queue, seen from the card.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The number of descriptors, a power of two.
    pub size: u16,
    /// The guest's addresses of the descriptors, of the guest's ring and of the card's ring.
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
    /// Numbers of buffers that the card has taken from the guest's ring, and returned in its own.
    taken: u16,
    returned: u16,
}

impl Queue {
    /// Starts the queue at `base`. Unless the guest `tells`, it is asked not to kick the card, which looks at the ring when the
    /// guest sleeps.
    pub fn enable(&mut self, memory: &Memory, base: u16, tells: bool) -> Result<(), Problem> {
        if !self.size.is_power_of_two() || self.size > SIZE {
            return Err(Problem::card(format!("a queue of {} descriptors", self.size)));
        }
        (self.taken, self.returned) = (base, base);
        memory.word(self.used)?.store(if tells { 0 } else { NO_NOTIFY }, Ordering::Release);
        Ok(())
    }
    /// Returns whether the guest wants an interrupt when buffers are returned.
    pub fn wants_interrupt(&self, memory: &Memory) -> Result<bool, Problem> {
        Ok(memory.word(self.available)?.load(Ordering::Acquire) & NO_INTERRUPT == 0)
    }
    /// Appends the next buffer that the guest has filled to `to`, and gives it back. Returns false if there is none.
    pub fn read(&mut self, memory: &Memory, to: &mut Vec<u8>) -> Result<bool, Problem> {
        let Some(head) = self.take(memory)? else { return Ok(false) };
        let mut at = Some(head);
        for _ in 0..self.size {
            let Some(index) = at else { break };
            let piece = self.descriptor(memory, index)?;
            if piece.flags & WRITABLE != 0 {
                return Err(Problem::card("a frame to be sent is not readable"));
            }
            memory.append(piece.address, piece.length, to)?;
            at = (piece.flags & NEXT != 0).then_some(piece.next);
        }
        self.give_back(memory, head, 0)?;
        Ok(true)
    }
    /// Writes `parts`, one after the other, into the guest's next empty buffer, and gives it back. Returns false if there is
    /// none; fails if it is too small.
    pub fn write(&mut self, memory: &Memory, parts: &[&[u8]]) -> Result<bool, Problem> {
        let Some(head) = self.take(memory)? else { return Ok(false) };
        let mut piece = self.descriptor(memory, head)?;
        let (mut filled, mut written, mut pieces) = (0, 0, 1);
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                if filled == piece.length {
                    pieces += 1;
                    if piece.flags & NEXT == 0 || pieces > self.size {
                        let size: usize = parts.iter().map(|part| part.len()).sum();
                        return Err(Problem::card(format!("a frame of {size} bytes does not fit its buffers")));
                    }
                    (piece, filled) = (self.descriptor(memory, piece.next)?, 0);
                    continue;
                }
                if piece.flags & WRITABLE == 0 {
                    return Err(Problem::card("a buffer to receive into is not writable"));
                }
                let (now, later) = rest.split_at(rest.len().min(piece.length - filled));
                memory.write(piece.address + filled as u64, now)?;
                filled += now.len();
                written += now.len();
                rest = later;
            }
        }
        self.give_back(memory, head, written as u32)?;
        Ok(true)
    }
    /// Takes the next chain of the guest's ring: returns its first descriptor.
    fn take(&mut self, memory: &Memory) -> Result<Option<u16>, Problem> {
        if memory.word(self.available + 2)?.load(Ordering::Acquire) == self.taken {
            return Ok(None);
        }
        let place = u64::from(self.taken % self.size);
        let head = memory.word(self.available + 4 + 2 * place)?.load(Ordering::Relaxed);
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(head))
    }
    fn descriptor(&self, memory: &Memory, index: u16) -> Result<Descriptor, Problem> {
        if index >= self.size {
            return Err(Problem::card(format!("descriptor {index} of {}", self.size)));
        }
        let bytes: [u8; 16] = memory.read(self.descriptors + 16 * u64::from(index))?;
        let word = u128::from_le_bytes(bytes);
        Ok(Descriptor {
            address: word as u64,
            length: (word >> 64) as u32 as usize,
            flags: (word >> 96) as u16,
            next: (word >> 112) as u16,
        })
    }
    /// Gives the chain that begins at `head` back, with `written` bytes in it.
    fn give_back(&mut self, memory: &Memory, head: u16, written: u32) -> Result<(), Problem> {
        let place = u64::from(self.returned % self.size);
        let element = u64::from(head) | u64::from(written) << 32;
        memory.write(self.used + 4 + 8 * place, &element.to_le_bytes())?;
        self.returned = self.returned.wrapping_add(1);
        memory.word(self.used + 2)?.store(self.returned, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    /// A guest's memory of 64 KiB that begins at its address 0x1000, 0x2000 into the file, and a queue of four
    /// descriptors in it, driven by hand as section 2.7 describes.
    struct Driver {
        memory: Memory,
        queue: Queue,
        filled: u16,
    }
    const DESCRIPTORS: u64 = 0x1000;
    const AVAILABLE: u64 = 0x1100;
    const USED: u64 = 0x1200;

    impl Driver {
        fn new() -> Driver {
            let file = memfd_create("memory", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&file, 0x2000 + 0x10000).unwrap();
            let memory = Memory::map(&file, 0x1000, 0x10000, 0x2000).unwrap();
            let mut queue =
                Queue { size: 4, descriptors: DESCRIPTORS, available: AVAILABLE, used: USED, ..Queue::default() };
            queue.enable(&memory, 0, false).unwrap();
            Driver { memory, queue, filled: 0 }
        }
        fn describe(&self, index: u64, address: u64, length: u32, flags: u16, next: u16) {
            let bytes = [&address.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
            self.memory.write(DESCRIPTORS + 16 * index, &bytes.concat()).unwrap();
        }
        fn offer(&mut self, head: u16) {
            let place = AVAILABLE + 4 + 2 * u64::from(self.filled % 4);
            self.memory.word(place).unwrap().store(head, Ordering::Relaxed);
            self.filled += 1;
            self.memory.word(AVAILABLE + 2).unwrap().store(self.filled, Ordering::Relaxed);
        }
        fn used(&self, place: u64) -> (u16, u64) {
            let index = self.memory.word(USED + 2).unwrap().load(Ordering::Relaxed);
            (index, u64::from_le_bytes(self.memory.read(USED + 4 + 8 * place).unwrap()))
        }
    }

    #[test]
    fn a_chain_is_read_in_its_order_and_returned() {
        let mut driver = Driver::new();
        assert_eq!(driver.memory.read(USED).unwrap(), [1, 0], "no notifications wanted");
        driver.memory.write(0x2000, b"head").unwrap();
        driver.memory.write(0x3000, b"tail").unwrap();
        driver.describe(2, 0x2000, 4, NEXT, 1);
        driver.describe(1, 0x3000, 4, 0, 0);
        let mut frame = Vec::new();
        assert!(!driver.queue.read(&driver.memory, &mut frame).unwrap());
        driver.offer(2);
        assert!(driver.queue.read(&driver.memory, &mut frame).unwrap());
        assert_eq!(frame, b"headtail");
        assert_eq!(driver.used(0), (1, 2));
        assert!(!driver.queue.read(&driver.memory, &mut frame).unwrap());
    }

    #[test]
    fn a_frame_is_written_across_a_chain_and_its_length_told() {
        let mut driver = Driver::new();
        for round in 0..6 {
            driver.describe(0, 0x2000, 3, NEXT | WRITABLE, 3);
            driver.describe(3, 0x3000, 100, WRITABLE, 0);
            driver.offer(0);
            assert!(driver.queue.write(&driver.memory, &[b"ab", b"cdef"]).unwrap());
            assert_eq!(driver.memory.read(0x2000).unwrap(), *b"abc");
            assert_eq!(driver.memory.read(0x3000).unwrap(), *b"def");
            assert_eq!(driver.used(round % 4), (round as u16 + 1, 6 << 32));
        }
        assert!(!driver.queue.write(&driver.memory, &[b"x"]).unwrap());
    }

    #[test]
    fn what_a_guest_must_not_do_is_an_error() {
        let cases: &[(u64, u32, u16, u16, u16)] = &[
            (0xfff, 4, 0, 0, 0),           // below its memory
            (0x1000 + 0xffff, 2, 0, 0, 0), // beyond it
            (u64::MAX, u32::MAX, 0, 0, 0), // around the end of the address space
            (0x2000, 4, WRITABLE, 0, 0),   // not to be read
            (0x2000, 4, NEXT, 4, 0),       // no such descriptor in the chain
            (0x2000, 4, 0, 0, 4),          // no such descriptor at its head
        ];
        for &(address, length, flags, next, head) in cases {
            let mut driver = Driver::new();
            driver.describe(0, address, length, flags, next);
            driver.offer(head);
            assert!(driver.queue.read(&driver.memory, &mut Vec::new()).is_err(), "{address:#x} {flags} {next} {head}");
        }
        let mut driver = Driver::new();
        driver.describe(0, 0x2000, 4, NEXT, 0); // a chain without end
        driver.offer(0);
        let mut frame = Vec::new();
        assert!(driver.queue.read(&driver.memory, &mut frame).unwrap() && frame.len() == 16);
        let mut driver = Driver::new();
        driver.describe(0, 0x2000, 4, WRITABLE, 0);
        driver.offer(0);
        assert!(driver.queue.write(&driver.memory, &[b"12345"]).is_err(), "too small");
        let mut queue = Queue { size: 3, ..driver.queue };
        assert!(queue.enable(&driver.memory, 0, false).is_err(), "no power of two");
    }
}
