//! What packets carry that does not fit into them. Its room is used again, so that a packet allocates nothing.

use super::Body;
use std::any::{Any, TypeId};
use vazao_transport::tcp::{Extra, Segment};

/// Something that packets of a protocol carry.
pub(crate) trait Content: Any + Clone + Default {
    /// Empties it, but keeps its room.
    fn clear(&mut self);
}

/// Where a packet's content is kept: among those of its type, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    shelf: u8,
    number: u32,
}

/// The contents of one type, whatever that is.
trait Shelf: Any {
    /// Forgets one.
    fn empty(&mut self, number: u32);
    /// Adds another one like it.
    fn copy(&mut self, number: u32) -> u32;
}

/// The contents of one type.
struct Shelved<C> {
    slots: Vec<C>,
    free: Vec<u32>,
}

impl<C: Content> Shelved<C> {
    /// The number of an empty one.
    #[inline]
    fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(C::default());
            self.slots.len() as u32 - 1
        })
    }
}

impl<C: Content> Shelf for Shelved<C> {
    fn empty(&mut self, number: u32) {
        self.slots[number as usize].clear();
        self.free.push(number);
    }
    fn copy(&mut self, number: u32) -> u32 {
        let copy = self.slots[number as usize].clone();
        let fresh = self.fresh();
        self.slots[fresh as usize] = copy;
        fresh
    }
}

/// The contents of all packets under way.
#[derive(Default)]
pub(crate) struct Contents {
    /// Rare options of segments, and the numbers of those that are free.
    extras: Vec<Extra>,
    free_extras: Vec<u32>,
    /// Options of the segment being made.
    pub scratch: Extra,
    shelves: Vec<(TypeId, Box<dyn Shelf>)>,
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
        match self.free_extras.pop() {
            Some(index) => {
                self.extras[index as usize] = extra;
                index
            }
            None => {
                self.extras.push(extra);
                (self.extras.len() - 1) as u32
            }
        }
    }

    /// The rare options of a segment, if it has any.
    #[inline]
    pub fn extra(&self, segment: &Segment) -> Option<&Extra> {
        segment.has_extra.then(|| &self.extras[segment.extra as usize])
    }

    /// Takes the rare options of a segment under way, to change them.
    pub fn take_extra(&mut self, segment: &Segment) -> Option<Extra> {
        self.discard(&Body::Tcp(*segment));
        segment.has_extra.then(|| self.extras[segment.extra as usize])
    }

    /// The shelf of contents of a type, a new one for the first.
    #[inline]
    fn shelf_of<C: Content>(&mut self) -> usize {
        let kind = TypeId::of::<C>();
        self.shelves.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.shelves.push((kind, Box::new(Shelved::<C> { slots: Vec::new(), free: Vec::new() })));
            self.shelves.len() - 1
        })
    }

    #[inline]
    fn shelf<C: Content>(&mut self, number: usize) -> &mut Shelved<C> {
        let shelf: &mut dyn Any = &mut *self.shelves[number].1;
        shelf.downcast_mut().expect("a packet's content is of its protocol")
    }

    /// Makes room for a content to fill, which is empty.
    #[inline]
    pub fn fresh<C: Content>(&mut self) -> (Kept, &mut C) {
        let place = self.shelf_of::<C>();
        let shelf = self.shelf::<C>(place);
        let number = shelf.fresh();
        (Kept { shelf: place as u8, number }, &mut shelf.slots[number as usize])
    }

    /// The content of a packet.
    #[inline]
    pub fn get<C: Content>(&self, kept: Kept) -> &C {
        let shelf: &dyn Any = &*self.shelves[usize::from(kept.shelf)].1;
        let shelf: &Shelved<C> = shelf.downcast_ref().expect("a packet's content is of its protocol");
        &shelf.slots[kept.number as usize]
    }

    /// Takes back room that was not filled.
    #[inline]
    pub fn give_back<C: Content>(&mut self, kept: Kept) {
        self.shelf::<C>(usize::from(kept.shelf)).free.push(kept.number);
    }

    /// Forgets what a packet carries that has arrived or was dropped.
    #[inline]
    pub fn discard(&mut self, body: &Body) {
        match body {
            Body::Tcp(segment) if segment.has_extra => self.free_extras.push(segment.extra),
            Body::Kept { content, .. } => self.shelves[usize::from(content.shelf)].1.empty(content.number),
            Body::Tcp(_) | Body::Udp(_) | Body::Bytes(_) => {}
        }
    }

    /// A packet that carries as much as another, with contents of its own.
    pub fn copy(&mut self, body: &Body) -> Body {
        match *body {
            Body::Tcp(segment) if segment.has_extra => {
                let extra = self.insert_extra(self.extras[segment.extra as usize]);
                Body::Tcp(Segment { extra, ..segment })
            }
            Body::Kept { content: Kept { shelf, number }, path } => {
                let number = self.shelves[usize::from(shelf)].1.copy(number);
                Body::Kept { content: Kept { shelf, number }, path }
            }
            // Everything else is in the packet.
            body => body,
        }
    }
}
