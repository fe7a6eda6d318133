//! Consoles of a guest: files in memory, so that printing never blocks and leaves nothing on disk.

use crate::Problem;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, fstat, memfd_create};
use rustix::io::pread;
use std::io;

/// The most unread bytes that a guest may print.
const LIMIT: u64 = 16 << 20;
/// Bytes read before their memory is released.
const FORGET: u64 = 1 << 20;

/// Words of the kernel's expected complaints: it can make no files of its own, and open no terminal (see `launch`).
const EXPECTED: &[&str] = &["umid", "check_one_sigio"];

/// One console's output.
pub(crate) struct Console {
    file: OwnedFd,
    /// Bytes that have been read as lines.
    read: u64,
    /// Start of the file's memory: the part before has been released.
    kept: u64,
    /// The beginning of an unfinished line.
    partial: Vec<u8>,
}

impl Console {
    /// Makes an empty console.
    pub fn new(name: &str) -> io::Result<Console> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
        Ok(Console { file, read: 0, kept: 0, partial: Vec::new() })
    }
    /// Fails if too much has been printed since the last reading.
    pub fn check(&self) -> Result<(), Problem> {
        let size = fstat(&self.file).map_or(0, |status| status.st_size as u64);
        if size - self.read > LIMIT { Err(Problem::Talks { limit: LIMIT }) } else { Ok(()) }
    }
    /// Appends the whole lines printed since the last call to `lines`.
    pub fn read_lines(&mut self, lines: &mut String) {
        let mut block = [0; 4096];
        while let Ok(n @ 1..) = pread(&self.file, &mut block, self.read) {
            self.read += n as u64;
            for &byte in &block[..n] {
                match byte {
                    b'\r' => {} // the terminal's line discipline adds it
                    b'\n' => {
                        lines.push_str(&String::from_utf8_lossy(&self.partial));
                        lines.push('\n');
                        self.partial.clear();
                    }
                    _ => self.partial.push(byte),
                }
            }
        }
        if self.read - self.kept > FORGET {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // If this fails, the memory is kept until the end.
            let _ = fallocate(&self.file, hole, 0, self.read);
            self.kept = self.read;
        }
    }
    /// Returns what was printed, at most the last mebibyte.
    pub fn text(&self) -> String {
        let text = self.tail(1 << 20);
        let telling = |line: &&str| !EXPECTED.iter().any(|word| line.contains(word));
        text.lines().filter(telling).flat_map(|line| [line, "\n"]).collect()
    }
    /// Returns the last bytes printed.
    fn tail(&self, length: u64) -> String {
        let size = fstat(&self.file).map_or(0, |status| status.st_size as u64);
        let mut block = vec![0; size.min(length) as usize];
        let n = pread(&self.file, &mut block, size.saturating_sub(length)).unwrap_or(0);
        String::from_utf8_lossy(&block[..n]).replace('\r', "")
    }
    /// Returns the last lines printed, at most 20; after a kernel's panic, those from its reason on.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 20;
        let text = self.tail(16 << 10);
        let telling = |line: &&str| !line.trim().is_empty() && !EXPECTED.iter().any(|word| line.contains(word));
        let lines: Vec<&str> = text.lines().filter(telling).collect();
        let panic = lines.iter().position(|line| line.contains("Kernel panic"));
        let from = panic.unwrap_or(lines.len().saturating_sub(LINES));
        lines[from..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
    }
}

impl AsFd for Console {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::write;

    #[test]
    fn only_whole_lines_are_handed_out() {
        let mut console = Console::new("test").unwrap();
        write(&console, b"up 1\r\nfir").unwrap();
        let mut lines = String::new();
        console.read_lines(&mut lines);
        assert_eq!(lines, "up 1\n");
        write(&console, b"st 1\n").unwrap();
        console.read_lines(&mut lines);
        assert_eq!(lines, "up 1\nfirst 1\n");
        assert_eq!(console.last_lines(), "up 1\nfirst 1");
        write(&console, b"\n  last").unwrap();
        assert_eq!(console.text(), "up 1\nfirst 1\n\n  last\n");
    }

    #[test]
    fn a_panic_is_told_from_its_reason_on() {
        let console = Console::new("test").unwrap();
        write(&console, b"booting\nKernel panic - not syncing: BUG!\n").unwrap();
        for _ in 0..100 {
            write(&console, b" [<60025ed0>] ? show_stack+0x0/0xc0\n").unwrap();
        }
        let told = console.last_lines();
        assert!(told.starts_with("Kernel panic - not syncing: BUG!\n"), "{told}");
        assert_eq!(told.lines().count(), 20);
    }

    #[test]
    fn a_guest_may_print_much_but_not_without_end() {
        let mut console = Console::new("test").unwrap();
        let mut lines = String::new();
        let block = [b'\n'; 1 << 16];
        for _ in 0..LIMIT >> 16 {
            write(&console, &block).unwrap();
        }
        console.check().unwrap();
        write(&console, b"x").unwrap();
        assert!(matches!(console.check(), Err(Problem::Talks { .. })));
        console.read_lines(&mut lines);
        console.check().unwrap();
        assert!(fstat(&console.file).unwrap().st_blocks < 16, "what was read is given back");
    }
}
