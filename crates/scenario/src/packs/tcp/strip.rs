//! Strips of a middlebox: options and ECN bits that it can remove from TCP's segments.

use vazao_engine::Ecn;
use vazao_engine::registry::{Entry, find};
use vazao_transport::mptcp::Multipath;
use vazao_transport::tcp::{Extra, Flags, SackBlocks, Segment, SynOptions};
use vazao_wire::{mptcp, tcp};

/// Part of a segment that a middlebox removes.
pub struct Strip {
    /// TCP option kinds.
    pub kinds: &'static [u8],
    /// Whether the ECN bits of TCP's and of IP's header are removed.
    pub ecn: bool,
    /// Removes it from a segment.
    pub from: fn(&mut Segment, &mut Extra),
}

const fn option(kinds: &'static [u8], from: fn(&mut Segment, &mut Extra)) -> Strip {
    Strip { kinds, ecn: false, from }
}

/// All strips. A middlebox is a set of them: bit n stands for the n-th.
pub const STRIPPABLE: &[Entry<Strip>] = &[
    Entry {
        name: "mptcp",
        aliases: &["multipath-tcp"],
        title: "Multipath TCP",
        source: "RFC 8684 section 3.7",
        help: "all its options: connections fall back to TCP, and subflows cannot be joined",
        parameters: &[],
        build: option(&[mptcp::KIND], |_, extra| {
            if let Some(multipath) = &mut extra.multipath {
                // The tuple of addresses and ports is no option.
                *multipath = Multipath { tuple: multipath.tuple, ..Multipath::default() };
            }
        }),
    },
    Entry {
        name: "sack",
        aliases: &["selective-acknowledgements"],
        title: "Selective acknowledgements",
        source: "RFC 2018",
        help: "SACK-permitted in SYNs, and the blocks in acknowledgements",
        parameters: &[],
        build: option(&[tcp::SACK_PERMITTED, tcp::SACK], |_, extra| {
            extra.sack = SackBlocks::default();
            change_syn(extra, |syn| syn.sack_permitted = false);
        }),
    },
    Entry {
        name: "timestamps",
        aliases: &[],
        title: "Timestamps",
        source: "RFC 7323 section 3",
        help: "the timestamps of every segment",
        parameters: &[],
        build: option(&[tcp::TIMESTAMPS], |segment, _| {
            (segment.has_timestamps, segment.timestamp, segment.echo) = (false, 0, 0);
        }),
    },
    Entry {
        name: "window-scale",
        aliases: &[],
        title: "Window scale",
        source: "RFC 7323 section 2",
        help: "in SYNs: windows are 65 535 bytes at most. In one direction alone its sender scales what the other does not",
        parameters: &[],
        build: option(&[tcp::WINDOW_SCALE], |_, extra| change_syn(extra, |syn| syn.window_scale = None)),
    },
    Entry {
        name: "fast-open",
        aliases: &[],
        title: "Fast Open",
        source: "RFC 7413",
        help: "cookies and the wish for one: no data with a SYN is taken",
        parameters: &[],
        build: option(&[tcp::FAST_OPEN], |_, extra| change_syn(extra, |syn| syn.fast_open = None)),
    },
    Entry {
        name: "ecn",
        aliases: &[],
        title: "ECN",
        source: "RFC 3168",
        help: "the bits ECE and CWR of TCP, and the codepoint of IP: it cannot be agreed upon, and no mark gets through",
        parameters: &[],
        build: Strip {
            kinds: &[],
            ecn: true,
            from: |segment, _| {
                segment.flags = Flags::from_bits(segment.flags.bits() & !ECN.0);
                segment.ecn = Ecn::NotEct;
            },
        },
    },
];

/// ECN bits of TCP's header.
pub(crate) const ECN: tcp::Flags = tcp::Flags(tcp::Flags::ECE.0 | tcp::Flags::CWR.0);

fn change_syn(extra: &mut Extra, change: impl FnOnce(&mut SynOptions)) {
    if let Some(syn) = &mut extra.syn {
        change(syn);
    }
}

/// Returns a middlebox with the named strip.
///
/// # Errors
/// The name is unknown.
pub(crate) fn stripping(name: &str) -> Result<u16, String> {
    let entry = find("strippable option", STRIPPABLE, name)?;
    let number = STRIPPABLE.iter().position(|known| known.name == entry.name).expect("it is one of them");
    Ok(1 << number)
}

/// Returns the strips of a middlebox.
pub(crate) fn stripped(middlebox: u16) -> impl Iterator<Item = &'static Entry<Strip>> {
    STRIPPABLE.iter().enumerate().filter(move |(number, _)| middlebox >> number & 1 == 1).map(|(_, entry)| entry)
}
