//! The bytes of streams, a page at a time, so that what the library did not take is not made again.

use bytes::Bytes;
use vazao_wire::content;

/// Bytes made at once.
const PAGE: u64 = 1 << 16;

/// A page of a stream.
#[derive(Debug, Default)]
pub struct Content {
    start: u64,
    page: Bytes,
}

impl Content {
    /// The bytes from `offset` on, at most `length` of them and at least one if that is.
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
