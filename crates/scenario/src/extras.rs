//! The rare options of segments, which most segments do not carry along.

use vazao_transport::tcp::Extra;

/// Rare options of the segments in flight. Segments carry an index into it.
#[derive(Default)]
pub(crate) struct Extras {
    slots: Vec<Extra>,
    free: Vec<u32>,
    /// Those of the segment being made.
    pub scratch: Extra,
}

impl Extras {
    /// Keeps those of the segment being made; their index.
    pub(crate) fn keep_scratch(&mut self) -> u32 {
        self.insert(self.scratch)
    }
    /// A copy of those of a segment under way.
    pub(crate) fn copy(&mut self, index: u32) -> u32 {
        self.insert(self.slots[index as usize])
    }
    /// Keeps those of a segment under way.
    #[inline]
    pub(crate) fn insert(&mut self, extra: Extra) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = extra;
                index
            }
            None => {
                self.slots.push(extra);
                (self.slots.len() - 1) as u32
            }
        }
    }
    /// Those of a segment that has arrived or is gone.
    pub(crate) fn take(&mut self, index: u32) -> Extra {
        self.free.push(index);
        self.slots[index as usize]
    }
}
