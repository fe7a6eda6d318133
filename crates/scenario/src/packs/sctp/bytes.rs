//! Packets of associations as bytes, for captures and for guests; and a guest's bytes as packets.

use super::guest::GuestState;
use super::read::{note_chunks, read_chunks};
use crate::endpoint::codec::{Address, Codec, Place};
use crate::endpoint::{Body, Contents, Crossing};
use crate::model::address::{Addresses, PathEnds, Socket};
use vazao_transport::sctp::{AUTHENTICATED, Cause, Control, Cookie, Hmac, Init, Packet, Probe, RANDOM, Unknown};
use vazao_wire::sctp::{Header, Writer, kind, parameter, parameter as put_parameter};
use vazao_wire::{content, ipv4};

/// Codec of an association's packets.
pub(crate) struct Bytes {
    sockets: [Socket; 2],
    paths: Vec<PathEnds>,
    /// Addresses of client and server.
    addresses: [Vec<Address>; 2],
    guest: Option<GuestState>,
}

impl Bytes {
    /// Creates a codec for captures, or for a guest at the other end.
    pub fn new(addresses: &Addresses, number: usize, to_guest: bool) -> Bytes {
        let paths = addresses.path_ends(number);
        let own: [Vec<_>; 2] = [0, 1].map(|side| paths.iter().map(|ends| ends[side].1).collect());
        let guest = to_guest.then(|| GuestState { addresses: own.clone(), ..GuestState::default() });
        Bytes { sockets: addresses.sockets[number], paths, addresses: own, guest }
    }
}

impl Codec for Bytes {
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2] {
        match *crossing.body {
            Body::Kept { path, .. } => self.paths[usize::from(path)].map(|(interface, _)| interface),
            _ => self.sockets.map(|socket| socket.interface),
        }
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let Body::Kept { content, path } = *crossing.body else { return };
        let (packet, from): (&Packet, _) = (crossing.contents.get(content), crossing.from());
        if let Some(known) = &mut self.guest {
            packet.data.iter().for_each(|data| known.sent[from].note(data.tsn, data.length, data.flags));
        }
        let ends = self.paths[usize::from(path)];
        let place = |side: usize| Place { address: ends[side].1, port: self.sockets[side].port };
        let guest = self.guest.as_ref().map(|known| (known, from));
        encode_chunks(packet, (place(from), place(1 - from)), &self.addresses[from], guest, out);
    }

    fn decode(&mut self, from: usize, packet: &[u8], contents: &mut Contents) -> Option<(Body, [usize; 2])> {
        let (ip, inside) = ipv4::decode(packet).ok()?;
        let path = self.paths.iter().position(|ends| ends[from].1 == ip.source).unwrap_or(0);
        let guest = self.guest.as_mut()?;
        let (content, read) = contents.fresh::<Packet>();
        if read_chunks(&packet[inside], guest, from, read).is_err() {
            read.clear();
            contents.give_back::<Packet>(content);
            return None;
        }
        Some((Body::Kept { content, path: path as u8 }, self.paths[path].map(|(interface, _)| interface)))
    }

    fn note_sent(&mut self, from: usize, payload: &[u8]) {
        if let Some(known) = &mut self.guest {
            note_chunks(payload, &mut known.sent[from]);
        }
    }
}

/// Appends an IP packet from `source`, whose addresses are `addresses`, to `target`. A guest, whose state and the
/// sending side are given, gets the flow's content and its own cookie and heartbeats; captures have content made from
/// stamps.
pub(crate) fn encode_chunks(
    packet: &Packet,
    (source, target): (Place, Place),
    addresses: &[[u8; 4]],
    guest: Option<(&GuestState, usize)>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + ipv4::HEADER_LENGTH, 0);
    let header = Header { source_port: source.port, destination_port: target.port, verification_tag: packet.tag };
    let mut writer = Writer::new(&header, out);
    for chunk in &packet.control {
        write_control(chunk, addresses, guest.map(|(known, _)| known), &mut writer);
    }
    write_sack(packet, &mut writer);
    write_auth(packet, &mut writer);
    write_forward(packet, &mut writer);
    write_data(packet, guest, &mut writer);
    writer.finish();
    let length = (out.len() - start) as u16;
    let ip = ipv4::Header::new(source.address, target.address, vazao_wire::sctp::PROTOCOL, length);
    out[start..start + ipv4::HEADER_LENGTH].copy_from_slice(&ip.bytes());
}

fn write_sack(packet: &Packet, writer: &mut Writer<'_>) {
    let Some(sack) = packet.sack else { return };
    // CMT puts the number of acknowledged packets into the flags.
    let kind = if sack.non_renegable { kind::NR_SACK } else { kind::SACK };
    writer.chunk(kind, sack.packets << 6, |out| {
        words(out, &[sack.cumulative, sack.window]);
        let (gaps, duplicates) = (packet.gaps.len() as u16, packet.duplicates.len() as u16);
        match sack.non_renegable {
            // There are no revocable gap reports.
            true => halves(out, &[0, gaps, duplicates, 0]),
            false => halves(out, &[gaps, duplicates]),
        }
        packet.gaps.iter().for_each(|&(first, last)| halves(out, &[first, last]));
        words(out, &packet.duplicates);
    });
}

/// Writes the AUTH chunk, of the endpoints' own shared key 0, without a digest.
fn write_auth(packet: &Packet, writer: &mut Writer<'_>) {
    let Some(hmac) = packet.auth else { return };
    writer.chunk(kind::AUTH, 0, |out| {
        halves(out, &[0, hmac.identifier()]);
        out.resize(out.len() + hmac.digest() as usize, 0);
    });
}

fn write_forward(packet: &Packet, writer: &mut Writer<'_>) {
    let Some(cumulative) = packet.forward else { return };
    let kind = if packet.interleaved { kind::I_FORWARD_TSN } else { kind::FORWARD_TSN };
    writer.chunk(kind, 0, |out| {
        words(out, &[cumulative]);
        for skip in &packet.skips {
            if packet.interleaved {
                halves(out, &[skip.stream, u16::from(skip.unordered)]);
                words(out, &[skip.number]);
            } else {
                halves(out, &[skip.stream, skip.number as u16]);
            }
        }
    });
}

fn write_data(packet: &Packet, guest: Option<(&GuestState, usize)>, writer: &mut Writer<'_>) {
    for data in &packet.data {
        let kind = if packet.interleaved { kind::I_DATA } else { kind::DATA };
        let offset = guest.map_or(data.stamp.into(), |(known, side)| known.sent[side].position(data.tsn).offset);
        writer.chunk(kind, data.flags.0, |out| {
            words(out, &[data.tsn]);
            // Stream sequence number and payload protocol identifier (0: unspecified); or, in I-DATA, reserved, the message
            // identifier, and the fragment sequence number or, in the first, again the protocol's identifier.
            if packet.interleaved {
                halves(out, &[data.stream, 0]);
                words(out, &[data.number, data.fsn]);
            } else {
                halves(out, &[data.stream, data.number as u16]);
                words(out, &[0]);
            }
            let start = out.len();
            out.resize(start + usize::from(data.length), 0);
            content::fill(offset, &mut out[start..]);
        });
    }
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
}

fn halves(out: &mut Vec<u8>, halves: &[u16]) {
    halves.iter().for_each(|half| out.extend(half.to_be_bytes()));
}

fn write_control(chunk: &Control, addresses: &[[u8; 4]], guest: Option<&GuestState>, writer: &mut Writer<'_>) {
    match chunk {
        Control::Init(init) => writer.chunk(kind::INIT, 0, |out| write_init(init, addresses, out)),
        Control::InitAck(init, cookie) => writer.chunk(kind::INIT_ACK, 0, |out| {
            write_init(init, addresses, out);
            if let Some(cookie) = cookie {
                put_parameter(parameter::STATE_COOKIE, out, |out| write_cookie(cookie, out));
            }
            for unknown in init.unknown.iter().flat_map(|unknown| parameters_of(*unknown, guest)) {
                put_parameter(parameter::UNRECOGNIZED_PARAMETER, out, |out| out.extend(unknown));
            }
        }),
        Control::CookieEcho(cookie) => writer.chunk(kind::COOKIE_ECHO, 0, |out| match guest {
            Some(known) => out.extend(&known.cookie),
            None => write_cookie(cookie, out),
        }),
        Control::CookieAck => writer.chunk(kind::COOKIE_ACK, 0, |_| {}),
        Control::Error(cause) => writer.chunk(kind::ERROR, 0, |out| write_cause(cause, guest, out)),
        Control::Unknown(unknown) => {
            let value = usize::from(unknown.bytes).saturating_sub(4);
            writer.chunk(unknown.kind as u8, 0, |out| out.resize(out.len() + value, 0));
        }
        Control::Heartbeat(probe) => writer.chunk(kind::HEARTBEAT, 0, |out| write_probe(probe, out)),
        Control::HeartbeatAck(probe) => writer.chunk(kind::HEARTBEAT_ACK, 0, |out| match guest {
            Some(known) => out.extend(&known.beats[probe.nonce as usize]),
            None => write_probe(probe, out),
        }),
        Control::Shutdown(cumulative) => writer.chunk(kind::SHUTDOWN, 0, |out| words(out, &[*cumulative])),
        Control::ShutdownAck => writer.chunk(kind::SHUTDOWN_ACK, 0, |_| {}),
        Control::ShutdownComplete(reflected) => writer.chunk(kind::SHUTDOWN_COMPLETE, u8::from(*reflected), |_| {}),
        Control::Abort(reflected, cause) => writer.chunk(kind::ABORT, u8::from(*reflected), |out| {
            cause.iter().for_each(|cause| write_cause(cause, guest, out));
        }),
    }
}

fn write_probe(probe: &Probe, out: &mut Vec<u8>) {
    put_parameter(parameter::HEARTBEAT_INFO, out, |out| {
        out.extend(probe.sent.as_nanos().to_be_bytes());
        words(out, &[probe.nonce, u32::from(probe.path)]);
    });
}

fn write_cause(cause: &Cause, guest: Option<&GuestState>, out: &mut Vec<u8>) {
    halves(out, &[cause.code(), cause.length()]);
    let end = out.len() + usize::from(cause.length()) - 4;
    cause.details().for_each(|detail| words(out, &[detail]));
    if let Some(unknown) = cause.unknown() {
        match kept(unknown, guest) {
            Some(bytes) => out.extend(bytes),
            // In a chunk's header the flags come between the type and the length.
            None if matches!(cause, Cause::UnrecognisedChunk(_)) => halves(out, &[unknown.kind << 8, unknown.bytes]),
            None => halves(out, &[unknown.kind, unknown.bytes]),
        }
    }
    // Bytes that were not kept are zero, bytes beyond the length are cut, and padding belongs to the chunk.
    out.resize(end, 0);
}

/// Returns the bytes of an unknown chunk or parameter that the guest sent.
fn kept(unknown: Unknown, guest: Option<&GuestState>) -> Option<&[u8]> {
    guest?.unknown.get(unknown.number as usize).map(Vec::as_slice)
}

/// Returns each unknown parameter with its header and without padding (RFC 9260 section 3.2.1).
fn parameters_of(unknown: Unknown, guest: Option<&GuestState>) -> Vec<Vec<u8>> {
    let Some(mut rest) = kept(unknown, guest) else {
        let mut empty = Vec::new();
        halves(&mut empty, &[unknown.kind, unknown.bytes]);
        empty.resize(usize::from(unknown.bytes), 0);
        return vec![empty];
    };
    let mut all = Vec::new();
    while let Some(&[high, low]) = rest.get(2..4) {
        let length = usize::from(u16::from_be_bytes([high, low])).max(4).min(rest.len());
        all.push(rest[..length].to_vec());
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    all
}

/// Appends the fixed part of INIT.
fn fixed(init: &Init, out: &mut Vec<u8>) {
    words(out, &[init.tag, init.window]);
    halves(out, &[init.streams.0, init.streams.1]);
    words(out, &[init.tsn]);
}

fn write_init(init: &Init, addresses: &[[u8; 4]], out: &mut Vec<u8>) {
    fixed(init, out);
    if addresses.len() > 1 {
        for address in addresses {
            put_parameter(parameter::IPV4_ADDRESS, out, |out| out.extend(address));
        }
    }
    if init.preservative > 0 {
        put_parameter(parameter::COOKIE_PRESERVATIVE, out, |out| words(out, &[init.preservative]));
    }
    if init.extensions.partial {
        put_parameter(parameter::FORWARD_TSN_SUPPORTED, out, |_| {});
    }
    if init.extensions.authentication {
        put_parameter(parameter::RANDOM, out, |out| content::fill(init.tag.into(), grown(out, RANDOM)));
        put_parameter(parameter::CHUNKS, out, |out| out.extend(AUTHENTICATED));
        put_parameter(parameter::HMAC_ALGORITHMS, out, |out| {
            halves(out, &[Hmac::Sha256, Hmac::Sha1].map(Hmac::identifier));
        });
    }
    let types: Vec<u8> = init.extensions.chunk_types().collect();
    if !types.is_empty() {
        put_parameter(parameter::SUPPORTED_EXTENSIONS, out, |out| out.extend(types));
    }
}

/// Lengthens a buffer; returns what was added.
fn grown(out: &mut Vec<u8>, bytes: u32) -> &mut [u8] {
    let start = out.len();
    out.resize(start + bytes as usize, 0);
    &mut out[start..]
}

fn write_cookie(cookie: &Cookie, out: &mut Vec<u8>) {
    let Cookie { own, peer, ties, .. } = cookie;
    words(out, &[own.tag]);
    halves(out, &[own.streams.0, own.streams.1]);
    words(out, &[own.tsn]);
    fixed(peer, out);
    words(out, &[u32::from(peer.extensions.bits()) << 8 | peer.addresses.bits()]);
    words(out, ties);
    for word in [cookie.created.as_nanos(), cookie.life.as_nanos(), cookie.signature] {
        out.extend(word.to_be_bytes());
    }
}
