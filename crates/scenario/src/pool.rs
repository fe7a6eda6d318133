//! Room for what packets carry that does not fit into them. It is used again.

use vazao_transport::{library, quic, sctp};

/// What a pool can keep.
pub(crate) trait Reused: Clone + Default {
    /// Empties it, but keeps its room.
    fn clear(&mut self);
}

impl Reused for sctp::Packet {
    fn clear(&mut self) {
        sctp::Packet::clear(self);
    }
}

impl Reused for quic::Datagram {
    fn clear(&mut self) {
        quic::Datagram::clear(self);
    }
}

impl Reused for library::Datagram {
    fn clear(&mut self) {
        self.payload.clear();
    }
}

/// Contents of packets under way, by number.
#[derive(Default)]
pub(crate) struct Pool<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Reused> Pool<T> {
    /// An empty one to fill.
    #[inline]
    pub fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(T::default());
            self.slots.len() as u32 - 1
        })
    }
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.slots[index as usize]
    }
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.slots[index as usize]
    }
    /// It was not filled.
    #[inline]
    pub fn give_back(&mut self, index: u32) {
        self.free.push(index);
    }
    /// It has arrived, or was dropped.
    #[inline]
    pub fn discard(&mut self, index: u32) {
        self.slots[index as usize].clear();
        self.free.push(index);
    }
    /// Another one like it.
    pub fn copy(&mut self, index: u32) -> u32 {
        let copy = self.slots[index as usize].clone();
        let fresh = self.fresh();
        self.slots[fresh as usize] = copy;
        fresh
    }
}
