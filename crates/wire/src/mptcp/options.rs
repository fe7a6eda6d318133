//! The MPTCP options of one segment.

use super::{KIND, MptcpOption};
use crate::tcp::MAX_OPTIONS_LENGTH;
use std::fmt;
use thiserror::Error;

/// The MPTCP options of a segment, in their order and as bytes, so that what is not understood is kept as it came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// One after another, without padding, each from its kind to its last byte.
    bytes: [u8; MAX_OPTIONS_LENGTH],
    length: u8,
}

/// An option does not fit into a header any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("an MPTCP option of {needed} bytes does not fit into the {available} that a TCP header has left for it")]
pub struct NoRoom {
    /// Bytes that it takes, padding included.
    pub needed: usize,
    /// Bytes that are left.
    pub available: usize,
}

impl Options {
    /// No options.
    pub const NONE: Options = Options { bytes: [0; MAX_OPTIONS_LENGTH], length: 0 };

    /// Adds an option behind the others, of a header that has no options else; where it has,
    /// [`tcp::Options::push_mptcp`](crate::tcp::Options::push_mptcp) counts those too.
    ///
    /// # Errors
    /// [`NoRoom`] if the header would be longer than TCP's can be; then nothing changes.
    pub fn push(&mut self, option: &MptcpOption) -> Result<(), NoRoom> {
        self.push_into(option, MAX_OPTIONS_LENGTH)
    }

    /// Appends an option where MPTCP has `room` bytes of the header in all.
    pub(crate) fn push_into(&mut self, option: &MptcpOption, room: usize) -> Result<(), NoRoom> {
        let mut bytes = Vec::with_capacity(MAX_OPTIONS_LENGTH);
        option.encode(&mut bytes);
        let (needed, available) = (bytes.len().next_multiple_of(4), room.saturating_sub(self.length()));
        if needed > available {
            return Err(NoRoom { needed, available });
        }
        self.keep(&bytes);
        Ok(())
    }

    /// Keeps an option that was read, whatever it is.
    pub(crate) fn keep_body(&mut self, body: &[u8]) {
        self.keep(&[&[KIND, 2 + body.len() as u8], body].concat());
    }

    fn keep(&mut self, option: &[u8]) {
        let start = usize::from(self.length);
        // All came out of one header, or room was made sure of.
        if let Some(free) = self.bytes.get_mut(start..start + option.len()) {
            free.copy_from_slice(option);
            self.length += option.len() as u8;
        }
    }

    /// Bytes that these take in a header: each is padded behind to a multiple of four, as Linux does.
    pub const fn length(&self) -> usize {
        let (mut at, mut length) = (0, 0);
        while at < self.length as usize {
            let option = self.bytes[at + 1] as usize;
            length += option.next_multiple_of(4);
            at += option;
        }
        length
    }

    /// Returns whether there are no options.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Each of them from its kind to its last byte, the unreadable ones as well.
    pub fn raw(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..usize::from(self.length)];
        std::iter::from_fn(move || {
            let (option, tail) = rest.split_at_checked(usize::from(*rest.get(1)?))?;
            rest = tail;
            Some(option)
        })
    }

    /// Returns the readable options in their order.
    pub fn iter(&self) -> impl Iterator<Item = MptcpOption> {
        self.raw().filter_map(|option| MptcpOption::decode(&option[2..]))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::NONE
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for option in self.raw() {
            match MptcpOption::decode(&option[2..]) {
                Some(known) => list.entry(&known),
                None => list.entry(&option),
            };
        }
        list.finish()
    }
}
