//! Contents of packets under way that do not fit into their bodies. Memory is reused, so that a packet allocates nothing.

use super::Body;
use std::any::{Any, TypeId};
use vazao_transport::tcp::{Extra, Segment};

/// Content of a protocol's packets.
pub(crate) trait Content: Any + Clone + Default {
    /// Empties it, but keeps its memory.
    fn clear(&mut self);
}

/// Key of a packet's content: the pool of its type, and its index there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pool: u8,
    number: u32,
}

/// Contents of one type.
#[derive(Default)]
struct Pool<C> {
    slots: Vec<C>,
    free: Vec<u32>,
}

impl<C: Default> Pool<C> {
    /// Returns a slot and its index. It holds what it did when it was released.
    #[inline]
    fn fresh(&mut self) -> (u32, &mut C) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(C::default());
            (self.slots.len() - 1) as u32
        });
        (number, &mut self.slots[number as usize])
    }

    #[inline]
    fn insert(&mut self, content: C) -> u32 {
        let (number, slot) = self.fresh();
        *slot = content;
        number
    }
}

/// Pool of contents of any type.
trait AnyPool: Any {
    /// Releases a content.
    fn release(&mut self, number: u32);
    /// Copies a content. Returns the copy's index.
    fn copy(&mut self, number: u32) -> u32;
}

impl<C: Content> AnyPool for Pool<C> {
    fn release(&mut self, number: u32) {
        self.slots[number as usize].clear();
        self.free.push(number);
    }
    fn copy(&mut self, number: u32) -> u32 {
        self.insert(self.slots[number as usize].clone())
    }
}

/// Contents of all packets under way.
#[derive(Default)]
pub(crate) struct Contents {
    /// Rare options of TCP segments.
    extras: Pool<Extra>,
    /// Options of the segment being made.
    pub scratch: Extra,
    pools: Vec<(TypeId, Box<dyn AnyPool>)>,
}

impl Contents {
    /// Keeps the options of the segment being made.
    #[inline]
    pub fn keep_scratch(&mut self) -> u32 {
        self.insert_extra(self.scratch)
    }

    /// Keeps the rare options of a segment.
    #[inline]
    pub fn insert_extra(&mut self, extra: Extra) -> u32 {
        self.extras.insert(extra)
    }

    /// Returns a place for the options of the segment being made, and its key.
    #[inline]
    pub fn fresh_extra(&mut self) -> (u32, &mut Extra) {
        self.extras.fresh()
    }

    /// Releases a place for options of which none was made.
    #[inline]
    pub fn give_back_extra(&mut self, number: u32) {
        self.extras.free.push(number);
    }

    /// Returns the rare options of a segment, if it has any.
    #[inline]
    pub fn extra(&self, segment: &Segment) -> Option<&Extra> {
        segment.has_extra.then(|| &self.extras.slots[segment.extra as usize])
    }

    /// Takes the rare options of a segment under way.
    pub fn take_extra(&mut self, segment: &Segment) -> Option<Extra> {
        self.discard(&Body::Tcp(*segment));
        segment.has_extra.then(|| self.extras.slots[segment.extra as usize])
    }

    /// Returns the index of a type's pool, which is created at first.
    #[inline]
    fn pool_of<C: Content>(&mut self) -> usize {
        let kind = TypeId::of::<C>();
        self.pools.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.pools.push((kind, Box::new(Pool::<C>::default())));
            self.pools.len() - 1
        })
    }

    #[inline]
    fn pool<C: Content>(&mut self, index: usize) -> &mut Pool<C> {
        let pool: &mut dyn Any = &mut *self.pools[index].1;
        pool.downcast_mut().expect("a packet's content is of its protocol")
    }

    /// Creates an empty content to be filled.
    #[inline]
    pub fn fresh<C: Content>(&mut self) -> (Kept, &mut C) {
        let index = self.pool_of::<C>();
        let (number, slot) = self.pool::<C>(index).fresh();
        (Kept { pool: index as u8, number }, slot)
    }

    /// Returns the content of a packet.
    #[inline]
    pub fn get<C: Content>(&self, kept: Kept) -> &C {
        let pool: &dyn Any = &*self.pools[usize::from(kept.pool)].1;
        let pool: &Pool<C> = pool.downcast_ref().expect("a packet's content is of its protocol");
        &pool.slots[kept.number as usize]
    }

    /// Releases a content that was not filled.
    #[inline]
    pub fn give_back<C: Content>(&mut self, kept: Kept) {
        self.pool::<C>(usize::from(kept.pool)).free.push(kept.number);
    }

    /// Releases the content of a packet that has arrived or was dropped.
    #[inline]
    pub fn discard(&mut self, body: &Body) {
        match body {
            Body::Tcp(segment) if segment.has_extra => self.extras.free.push(segment.extra),
            Body::Kept { content, .. } => self.pools[usize::from(content.pool)].1.release(content.number),
            Body::Tcp(_) | Body::Udp(_) | Body::Bytes(_) => {}
        }
    }

    /// Copies a packet's body with its content.
    pub fn copy(&mut self, body: &Body) -> Body {
        match *body {
            Body::Tcp(segment) if segment.has_extra => {
                let extra = self.insert_extra(self.extras.slots[segment.extra as usize]);
                Body::Tcp(Segment { extra, ..segment })
            }
            Body::Kept { content: Kept { pool, number }, path } => {
                let number = self.pools[usize::from(pool)].1.copy(number);
                Body::Kept { content: Kept { pool, number }, path }
            }
            // Everything else is in the packet.
            body => body,
        }
    }
}
