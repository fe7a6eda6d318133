//! The bytes of streams, made a page at a time: what the library did not take at once need not be made again.

use bytes::Bytes;
use vazao_wire::content;

/// Bytes of a page.
const PAGE: u64 = 1 << 16;

/// The page of a stream that was made last.
#[derive(Debug, Default)]
pub struct Content {
    start: u64,
    page: Bytes,
}

impl Content {
    /// Returns bytes from `offset` on: at least one and at most `length`, none if that is 0.
    pub fn at(&mut self, offset: u64, length: u64) -> Bytes {
        let start = offset - offset % PAGE;
        if self.page.is_empty() || start != self.start {
            let mut page = vec![0; PAGE as usize];
            content::fill(start, &mut page);
            (self.start, self.page) = (start, page.into());
        }
        let from = (offset - start) as usize;
        let to = PAGE.min(from as u64 + length) as usize;
        self.page.slice(from..to)
    }
}
