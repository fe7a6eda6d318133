//! Bytes of a guest as packets of our associations.

use super::guest::{GuestState, SentChunks};
use vazao_engine::{Duration, Time};
use vazao_transport::sctp::{
    Addresses, Cause, Control, Cookie, Data, DataFlags, Extensions, Init, Packet, Probe, Sack, Skip, Unknown, stamp,
};
use vazao_wire::sctp::{Chunk, decode, kind, parameter};
use vazao_wire::{DecodeError, content};

/// Returns the bytes of a DATA or I-DATA chunk between its length and its payload; other kinds of chunks have no user data.
fn data_fields(kind: u8) -> Option<usize> {
    match kind {
        kind::DATA => Some(12),
        kind::I_DATA => Some(16),
        _ => None,
    }
}

/// Notes the chunks of user data in a sent packet.
pub(crate) fn note_chunks(bytes: &[u8], sent: &mut SentChunks) {
    for chunk in decode(bytes).map(|(_, chunks)| chunks).unwrap_or_default() {
        if let Some(payload) = data_fields(chunk.kind).and_then(|fields| chunk.value.get(fields..)) {
            sent.note(word(chunk.value, 0), payload.len() as u16, DataFlags(chunk.flags & 7));
        }
    }
}

/// Reads a packet of a guest on side `side` into `out`, which is empty. A chunk has the stamp of its place if its payload
/// belongs there, else a wrong one.
pub(crate) fn read_chunks(
    bytes: &[u8],
    guest: &mut GuestState,
    side: usize,
    out: &mut Packet,
) -> Result<(), DecodeError> {
    let (header, chunks) = decode(bytes)?;
    out.tag = header.verification_tag;
    for chunk in chunks {
        if chunk.value.len() < least(chunk.kind) {
            return Err(DecodeError::BadLength(chunk.value.len()));
        }
        match chunk.kind {
            kind::DATA | kind::I_DATA => {
                out.interleaved = chunk.kind == kind::I_DATA;
                out.data.push(data(&chunk, &guest.sent[side]));
            }
            kind::SACK => read_sack(&chunk, out),
            kind::FORWARD_TSN | kind::I_FORWARD_TSN => read_forward(&chunk, out),
            _ => out.control.extend(control(&chunk, guest, side)),
        }
    }
    Ok(())
}

/// Returns the least bytes of a chunk behind its length (RFC 9260 section 3.3).
fn least(kind: u8) -> usize {
    match kind {
        kind::SACK => 12,
        kind::DATA | kind::I_DATA => data_fields(kind).unwrap_or(0),
        kind::INIT | kind::INIT_ACK => FIXED,
        kind::SHUTDOWN | kind::FORWARD_TSN | kind::I_FORWARD_TSN => 4,
        _ => 0,
    }
}

/// Bytes of the fixed part of INIT.
const FIXED: usize = 16;

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&word| u32::from_be_bytes(word))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&half| u16::from_be_bytes(half))
}

fn data(chunk: &Chunk<'_>, sent: &SentChunks) -> Data {
    let interleaved = chunk.kind == kind::I_DATA;
    let (fields, payload) = chunk.value.split_at(data_fields(chunk.kind).unwrap_or(0));
    let flags = DataFlags(chunk.flags & 7);
    let (tsn, stream) = (word(fields, 0), half(fields, 4));
    let position = sent.position(tsn);
    let right = stamp(stream, position.message, position.within);
    Data {
        tsn,
        stream,
        // In I-DATA (RFC 8260 section 2.1) a message's first fragment has the protocol's identifier in place of a number.
        number: if interleaved { word(fields, 8) } else { u32::from(half(fields, 6)) },
        fsn: if interleaved && !flags.has(DataFlags::BEGIN) { word(fields, 12) } else { 0 },
        message: position.message as u32,
        length: payload.len() as u16,
        flags,
        stamp: if content::verify(position.offset, payload) { right } else { !right },
    }
}

/// Reads a FORWARD-TSN or I-FORWARD-TSN chunk (RFC 3758 section 3.2, RFC 8260 section 2.3.1).
fn read_forward(chunk: &Chunk<'_>, out: &mut Packet) {
    out.interleaved = chunk.kind == kind::I_FORWARD_TSN;
    out.forward = Some(word(chunk.value, 0));
    let bytes = &chunk.value[4..];
    if out.interleaved {
        let skip = |bytes: &[u8]| Skip { stream: half(bytes, 0), unordered: bytes[3] & 1 == 1, number: word(bytes, 4) };
        out.skips.extend(bytes.chunks_exact(8).map(skip));
    } else {
        let skip = |bytes: &[u8]| Skip { stream: half(bytes, 0), unordered: false, number: u32::from(half(bytes, 2)) };
        out.skips.extend(bytes.chunks_exact(4).map(skip));
    }
}

fn read_sack(chunk: &Chunk<'_>, out: &mut Packet) {
    let bytes = chunk.value;
    out.sack =
        Some(Sack { cumulative: word(bytes, 0), window: word(bytes, 4), packets: chunk.flags >> 6, ..Sack::default() });
    let gaps = usize::from(half(bytes, 8));
    let duplicates = usize::from(half(bytes, 10));
    let blocks = bytes[12..].chunks_exact(4).map(|block| (half(block, 0), half(block, 2)));
    out.gaps.extend(blocks.take(gaps));
    out.duplicates.extend(bytes[12..].chunks_exact(4).skip(gaps).take(duplicates).map(|tsn| word(tsn, 0)));
}

fn control(chunk: &Chunk<'_>, guest: &mut GuestState, side: usize) -> Option<Control> {
    let value = chunk.value;
    Some(match chunk.kind {
        kind::INIT => Control::Init(init(value, guest, side)),
        kind::INIT_ACK => {
            let own = init(value, guest, side);
            let cookie = parameters(value).find(|(kind, _)| *kind == parameter::STATE_COOKIE);
            // The guest's cookie is sent back as it came.
            let cookie = cookie.map(|(_, cookie)| guest.cookie = cookie.to_vec());
            Control::InitAck(own, cookie.map(|()| Cookie::foreign(own)))
        }
        kind::COOKIE_ECHO => Control::CookieEcho(cookie(value).unwrap_or(Cookie::foreign(Init::default()))),
        kind::COOKIE_ACK => Control::CookieAck,
        kind::HEARTBEAT => {
            guest.beats.push(value.to_vec());
            Control::Heartbeat(Probe { path: 0, sent: Time::ZERO, nonce: guest.beats.len() as u32 - 1 })
        }
        kind::HEARTBEAT_ACK => {
            // Our own information comes back behind its type and length.
            let sent = Time::from_nanos(u64::from(word(value, 4)) << 32 | u64::from(word(value, 8)));
            Control::HeartbeatAck(Probe { path: word(value, 16) as u8, sent, nonce: word(value, 12) })
        }
        kind::SHUTDOWN => Control::Shutdown(word(value, 0)),
        kind::SHUTDOWN_ACK => Control::ShutdownAck,
        kind::SHUTDOWN_COMPLETE => Control::ShutdownComplete(chunk.flags & 1 == 1),
        kind::ABORT => Control::Abort(chunk.flags & 1 == 1, cause(value)),
        kind::ERROR => Control::Error(cause(value)?),
        other => Control::Unknown(unknown_chunk(chunk, other, guest)),
    })
}

/// Reads an unknown chunk, and keeps it if it is to be reported.
fn unknown_chunk(chunk: &Chunk<'_>, kind: u8, guest: &mut GuestState) -> Unknown {
    let length = chunk.value.len() as u16 + 4;
    let mut unknown = Unknown::new(u16::from(kind), length);
    if Unknown::is_reported(kind) {
        let [high, low] = length.to_be_bytes();
        keep([&[kind, chunk.flags, high, low], chunk.value].concat(), &mut unknown, guest);
    }
    unknown
}

/// Keeps bytes, padded, that may be reported.
fn keep(mut bytes: Vec<u8>, unknown: &mut Unknown, guest: &mut GuestState) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    unknown.number = guest.unknown.len() as u32;
    guest.unknown.push(bytes);
}

/// Reads the first error cause.
fn cause(value: &[u8]) -> Option<Cause> {
    Cause::from_wire(half(value, 0), half(value, 2), [word(value, 4), u32::from(half(value, 8)) << 16])
}

/// Returns the parameters behind the fixed part of an INIT, up to an unknown one that ends the processing (section 3.2.1).
fn parameters(value: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = value.get(FIXED..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(half(rest, 2));
        let found = (half(rest, 0), rest.get(4..length)?);
        let goes_on = is_known(found.0) || Unknown::is_skipped((found.0 >> 8) as u8);
        rest = rest.get(length.next_multiple_of(4)..).filter(|_| goes_on).unwrap_or_default();
        Some(found)
    })
}

/// Returns whether our associations know a parameter of INIT and INIT ACK, if only to ignore it.
fn is_known(kind: u16) -> bool {
    matches!(
        kind,
        parameter::IPV4_ADDRESS
            | parameter::IPV6_ADDRESS
            | parameter::STATE_COOKIE
            | parameter::UNRECOGNIZED_PARAMETER
            | parameter::COOKIE_PRESERVATIVE
            | parameter::HOST_NAME_ADDRESS
            | parameter::SUPPORTED_ADDRESS_TYPES
            | parameter::ECN_CAPABLE
            | parameter::SUPPORTED_EXTENSIONS
            | parameter::FORWARD_TSN_SUPPORTED
    )
}

/// Keeps parameters as they came, padded, if there are any. The padding of the last is not its own.
fn as_they_came<'a>(found: impl Iterator<Item = (u16, &'a [u8])>, guest: &mut GuestState) -> Option<Unknown> {
    let (mut bytes, mut first, mut end, mut count) = (Vec::new(), None, None, 0);
    for (kind, value) in found {
        end = Some(bytes.len() + 4 + value.len());
        vazao_wire::sctp::parameter(kind, &mut bytes, |out| out.extend(value));
        first.get_or_insert(kind);
        count += 1;
    }
    let length = end? as u16;
    let mut unknown = Unknown { count, ..Unknown::new(first?, length) };
    keep(bytes, &mut unknown, guest);
    Some(unknown)
}

fn fixed(value: &[u8]) -> Init {
    Init {
        tag: word(value, 0),
        window: word(value, 4),
        streams: (half(value, 8), half(value, 10)),
        tsn: word(value, 12),
        ..Init::default()
    }
}

/// Reads the addresses that an INIT lists; its source address may be missing.
fn addresses(value: &[u8], known: &[[u8; 4]]) -> Addresses {
    let listed =
        parameters(value).filter(|(kind, _)| matches!(*kind, parameter::IPV4_ADDRESS | parameter::IPV6_ADDRESS));
    listed.fold(Addresses::default(), |addresses, (_, listed)| {
        if !known.iter().any(|address| address == listed) {
            return addresses.with_other(listed);
        }
        let paths = known.iter().enumerate().filter(|(_, address)| *address == listed);
        paths.fold(addresses, |addresses, (path, _)| addresses.with_path(path))
    })
}

fn init(value: &[u8], guest: &mut GuestState, side: usize) -> Init {
    let listed = parameters(value).find(|(kind, _)| *kind == parameter::SUPPORTED_EXTENSIONS);
    let interleaving = listed.is_some_and(|(_, types)| types.contains(&kind::I_DATA));
    let partial = parameters(value).any(|(kind, _)| kind == parameter::FORWARD_TSN_SUPPORTED);
    let reported = parameters(value).filter(|(kind, _)| !is_known(*kind) && Unknown::is_reported((kind >> 8) as u8));
    let longer = parameters(value).find(|(kind, _)| *kind == parameter::COOKIE_PRESERVATIVE);
    Init {
        addresses: addresses(value, &guest.addresses[side]),
        host_name: as_they_came(parameters(value).filter(|(kind, _)| *kind == parameter::HOST_NAME_ADDRESS), guest),
        unknown: as_they_came(reported, guest),
        extensions: Extensions { partial, interleaving, authentication: false },
        preservative: longer.map_or(0, |(_, increment)| word(increment, 0)),
        ..fixed(value)
    }
}

/// Reads our own cookie, as `write_cookie` wrote it.
fn cookie(value: &[u8]) -> Option<Cookie> {
    if value.len() != Cookie::BYTES as usize {
        return None;
    }
    let bits = word(value, 28);
    let extensions = Extensions::from_bits((bits >> 8) as u8);
    let long = |at: usize| u64::from(word(value, at)) << 32 | u64::from(word(value, at + 4));
    Some(Cookie {
        own: Init {
            tag: word(value, 0),
            streams: (half(value, 4), half(value, 6)),
            tsn: word(value, 8),
            ..Init::default()
        },
        peer: Init { addresses: Addresses::from_bits(bits), extensions, ..fixed(&value[12..]) },
        ties: [word(value, 32), word(value, 36)],
        created: Time::from_nanos(long(40)),
        life: Duration::from_nanos(long(48)),
        signature: long(56),
    })
}

#[cfg(test)]
mod tests;
