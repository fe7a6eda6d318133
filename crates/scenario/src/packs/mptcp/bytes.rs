//! Segments of Multipath TCP's subflows as bytes: ports, options, and the part of the stream that they carry.

use crate::endpoint::codec::{Address, Codec, Place};
use crate::endpoint::{Body, Contents, Crossing};
use crate::model::address::{Addresses, PathEnds, Socket};
use crate::packs::tcp::bytes as tcp;
use std::collections::BTreeMap;
use vazao_transport::mptcp::keys::Hash;
use vazao_transport::mptcp::{self, Announced, DataAck, Dss, Mapping, Multipath, Signal, Tuple};
use vazao_transport::tcp::{Extra, Segment};
use vazao_wire::mptcp::{
    AddAddress, AddressIds, Capable, DataSequence, Dss as WireDss, Join, Keys, Mapping as WireMapping, MptcpOption,
    Options, Proof, ResetReason, Version, pseudo_header,
};
use vazao_wire::{content, ipv4};

/// Codec of a connection's segments for captures.
pub(crate) struct CaptureCodec {
    sockets: [Socket; 2],
    ways: Vec<PathEnds>,
    /// All addresses of the hosts.
    hosts: [Vec<Address>; 2],
    starts: DataStarts,
    /// Codec of segments without Multipath TCP's options.
    plain: tcp::Bytes,
}

impl CaptureCodec {
    pub fn new(addresses: &Addresses, number: usize) -> CaptureCodec {
        CaptureCodec {
            sockets: addresses.sockets[number],
            ways: addresses.path_ends(number),
            hosts: addresses.of_flow(number),
            starts: DataStarts::default(),
            plain: tcp::Bytes::new(addresses, number),
        }
    }
}

impl Codec for CaptureCodec {
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2] {
        match multipath(crossing) {
            Some((_, multipath)) => self.ways[usize::from(multipath.tuple.pair)].map(|(interface, _)| interface),
            None => self.plain.interfaces(crossing),
        }
    }

    fn encode(&mut self, crossing: &Crossing<'_>, keep: usize, out: &mut Vec<u8>) {
        let Body::Tcp(segment) = crossing.body else { return self.plain.encode(crossing, keep, out) };
        let Some((extra, multipath)) = multipath(crossing) else { return self.plain.encode(crossing, keep, out) };
        let from = crossing.from();
        let ends = self.ways[usize::from(multipath.tuple.pair)];
        let ports = [client_port(self.sockets[0].port, multipath.tuple.port), self.sockets[1].port];
        let place = |side: usize| Place { address: ends[side].1, port: ports[side] };
        self.starts.note(from, multipath);
        let offset = self.starts.offset(from, multipath).unwrap_or(0);
        let summed = with_checksums(multipath, offset, segment.length);
        let contents =
            tcp::Contents { offset, options: options(&summed, [from, 1 - from].map(|side| &self.hosts[side][..])) };
        tcp::encode(segment, Some(extra), (place(from), place(1 - from)), contents, keep, out);
    }
}

/// Returns the options of a segment, if some are Multipath TCP's.
fn multipath<'a>(crossing: &Crossing<'a>) -> Option<(&'a Extra, &'a Multipath)> {
    let Body::Tcp(segment) = crossing.body else { return None };
    let extra = crossing.contents.extra(segment)?;
    Some((extra, extra.multipath.as_ref()?))
}

/// Codec of a connection between one of our machines and a guest.
pub(crate) struct GuestCodec {
    sockets: [Socket; 2],
    ways: Vec<PathEnds>,
    guest: GuestState,
    offsets: [tcp::Offsets; 2],
}

impl GuestCodec {
    pub fn new(addresses: &Addresses, number: usize) -> GuestCodec {
        let sockets = addresses.sockets[number];
        GuestCodec {
            sockets,
            ways: addresses.path_ends(number),
            guest: GuestState { hosts: addresses.of_flow(number), ..GuestState::default() },
            offsets: sockets.map(|socket| tcp::Offsets::from(socket.iss)),
        }
    }
}

impl Codec for GuestCodec {
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2] {
        let Body::Tcp(_) = crossing.body else { return self.sockets.map(|socket| socket.interface) };
        let pair = multipath(crossing).map_or(0, |(_, multipath)| multipath.tuple.pair);
        self.ways[usize::from(pair)].map(|(interface, _)| interface)
    }

    fn encode(&mut self, crossing: &Crossing<'_>, keep: usize, out: &mut Vec<u8>) {
        let Body::Tcp(segment) = crossing.body else { return };
        let side = crossing.from();
        let extra = crossing.contents.extra(segment).copied().unwrap_or_default();
        let multipath = extra.multipath.unwrap_or_default();
        let ends = self.ways[usize::from(multipath.tuple.pair)];
        let ports = [self.guest.client_port(self.sockets[0].port, multipath.tuple.port), self.sockets[1].port];
        let place = |side: usize| Place { address: ends[side].1, port: ports[side] };
        let multipath = self.guest.with_its_identifiers(&multipath);
        self.guest.starts.note(side, &multipath);
        let offset = self.guest.starts.offset(side, &multipath);
        let offset = offset.unwrap_or_else(|| tcp::Contents::of(segment, &mut self.offsets[side]).offset);
        let hosts = &self.guest.hosts;
        let multipath = with_checksums(&multipath, offset, segment.length);
        let options = options(&multipath, [&hosts[side], &hosts[1 - side]]);
        let contents = tcp::Contents { offset, options };
        tcp::encode(segment, Some(&extra), (place(side), place(1 - side)), contents, keep, out);
    }

    fn decode(&mut self, from: usize, packet: &[u8], contents: &mut Contents) -> Option<(Body, [usize; 2])> {
        let (ip, _) = ipv4::decode(packet).ok()?;
        let between = |ends: &PathEnds| ends[1 - from].1 == ip.destination && ends[from].1 == ip.source;
        let way = self.ways.iter().position(between)?;
        let (mut segment, extra) = self.guest.read(packet, from, way as u16, self.sockets[0].port)?;
        segment.extra = contents.insert_extra(extra);
        Some((Body::Tcp(segment), self.ways[way].map(|(interface, _)| interface)))
    }
}

/// Start of each side's data in data sequence space.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DataStarts([Option<u64>; 2]);

impl DataStarts {
    /// Notes the key of side `from`, if a segment carries it.
    pub fn note(&mut self, from: usize, multipath: &Multipath) {
        if let Some(Signal::Capable { key: Some(key), .. }) = multipath.signal {
            self.0[from].get_or_insert(Hash::Sha256.initial_data_sequence(key).wrapping_add(1));
        }
    }

    /// Returns the stream offset of a segment's data by its options; `None`: they do not say.
    pub fn offset(&self, from: usize, multipath: &Multipath) -> Option<u64> {
        match (multipath.signal, multipath.dss) {
            (Some(Signal::Capable { length: Some(_), .. }), _) => Some(0),
            (_, Some(Dss { map: Some(map), .. })) => Some(map.dsn.wrapping_sub(self.0[from]?)),
            _ => None,
        }
    }
}

/// Computes the checksums in a segment's options; its data lies at `offset` of the stream.
pub(crate) fn with_checksums(multipath: &Multipath, offset: u64, length: u16) -> Multipath {
    let sum = |dsn, subflow, mapped| {
        let mut data = vec![0; usize::from(length)];
        content::fill(offset, &mut data);
        pseudo_header(dsn, subflow, mapped).update(&data).finish()
    };
    let mut summed = *multipath;
    if let Some(Dss { map: Some(map), .. }) = &mut summed.dss {
        map.checksum = map.checksum.map(|_| sum(map.dsn, map.subflow, map.length));
    }
    if let Some(Signal::Capable { key: Some(key), length: Some((mapped, Some(checksum))), .. }) = &mut summed.signal {
        *checksum = sum(Hash::Sha256.initial_data_sequence(*key).wrapping_add(1), 1, *mapped);
    }
    summed
}

/// Returns the client's port of a subflow: the first one's, and others far from those of other flows.
pub(crate) fn client_port(first: u16, number: u8) -> u16 {
    const EPHEMERAL: u16 = 49_152;
    EPHEMERAL + (first - EPHEMERAL + u16::from(number) * 251) % (u16::MAX - EPHEMERAL)
}

/// Converts a segment's options for the wire; `hosts` are the addresses of its sender and of its receiver.
pub(crate) fn options(multipath: &Multipath, hosts: [&[Address]; 2]) -> Options {
    let mut options = Options::NONE;
    let dss = multipath.dss.map(|dss| MptcpOption::Dss(data_sequence(&dss)));
    let signal = multipath.signal.map(|signal| option(signal, hosts));
    for option in dss.into_iter().chain(signal) {
        // The connection counts the space in a header.
        options.push(&option).expect("options that fit a header");
    }
    options
}

fn data_sequence(dss: &Dss) -> WireDss {
    WireDss {
        data_fin: dss.fin,
        ack: dss.ack.map(|ack| match ack {
            DataAck::Short(low) => DataSequence::Short(low),
            DataAck::Long(whole) => DataSequence::Long(whole),
        }),
        mapping: dss.map.map(|map| WireMapping {
            data_sequence: DataSequence::Long(map.dsn),
            subflow_sequence: map.subflow,
            length: map.length,
            checksum: map.checksum,
        }),
    }
}

fn option(signal: Signal, hosts: [&[Address]; 2]) -> MptcpOption {
    match signal {
        Signal::Capable { key, peer, length, checksum } => {
            let keys = match (key, peer, length) {
                (Some(sender), Some(receiver), Some((length, checksum))) => {
                    Keys::WithData { sender, receiver, length, checksum }
                }
                (Some(sender), Some(receiver), None) => Keys::Both { sender, receiver },
                (Some(sender), None, _) => Keys::Sender(sender),
                (None, ..) => Keys::None,
            };
            let (extended, no_join, hmac) = (false, false, true);
            MptcpOption::Capable(Capable {
                version: Version::V1,
                checksum_required: checksum,
                extended,
                no_join,
                hmac,
                keys,
            })
        }
        Signal::Join { backup, address, token, nonce } => {
            MptcpOption::Join(Join::Syn { backup, address_id: address, token, nonce })
        }
        Signal::JoinAnswer { backup, address, hmac, nonce } => {
            MptcpOption::Join(Join::SynAck { backup, address_id: address, truncated_hmac: hmac, nonce })
        }
        Signal::JoinProof(hmac) => MptcpOption::Join(Join::Ack { hmac }),
        // An echo repeats an address that the receiver has announced.
        Signal::AddAddress { address, hmac } => MptcpOption::AddAddress(AddAddress {
            address_id: address.identifier,
            address: hosts[usize::from(hmac.is_none())].get(usize::from(address.number)).copied().unwrap_or_default(),
            port: None,
            proof: hmac.map_or(Proof::Echo, Proof::TruncatedHmac),
        }),
        Signal::RemoveAddress(address) => {
            MptcpOption::RemoveAddress(AddressIds::new(&[address.identifier]).expect("one is not too many"))
        }
        Signal::Priority { backup } => MptcpOption::Priority { backup, address_id: None },
        Signal::Fail(data_sequence) => MptcpOption::Fail { data_sequence },
        Signal::FastClose(receiver_key) => MptcpOption::FastClose { receiver_key },
        Signal::Reset(code) => MptcpOption::Reset { transient: false, reason: reset_reason(code) },
    }
}

fn reset_reason(code: u8) -> ResetReason {
    match code {
        mptcp::reason::UNSPECIFIED => ResetReason::Unspecified,
        mptcp::reason::PERFORMANCE => ResetReason::UnacceptablePerformance,
        mptcp::reason::MIDDLEBOX => ResetReason::MiddleboxInterference,
        other => ResetReason::Other(other),
    }
}

/// State of a connection between one of our machines and a guest.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestState {
    pub starts: DataStarts,
    /// All addresses of the client's host and of the server's.
    pub hosts: [Vec<Address>; 2],
    /// Client's port of each subflow, by the subflow's number.
    ports: Vec<u16>,
    /// Initial sequence number and latest mapping of the guest on each subflow.
    subflows: Vec<(u32, Option<Mapping>)>,
    /// Address identifiers of the guest, by our numbers of its addresses.
    address_ids: BTreeMap<u8, u8>,
    /// Latest data sequence number of the guest, which completes short ones.
    last_dsn: u64,
}

impl GuestState {
    /// Returns the client's port of a subflow that our client opens, or that the guest has opened.
    pub fn client_port(&mut self, first: u16, number: u8) -> u16 {
        match self.ports.get(usize::from(number)) {
            Some(&port) => port,
            None => {
                let port = client_port(first, number);
                self.note_port(port);
                port
            }
        }
    }

    /// Returns the number of the subflow with this client's port, which is added at first.
    fn note_port(&mut self, port: u16) -> u8 {
        let known = self.ports.iter().position(|&known| known == port);
        known.unwrap_or_else(|| {
            self.ports.push(port);
            self.subflows.resize(self.ports.len(), (0, None));
            self.ports.len() - 1
        }) as u8
    }

    /// Replaces our identifiers of the guest's addresses in options by its own.
    pub fn with_its_identifiers(&self, multipath: &Multipath) -> Multipath {
        let signal = match multipath.signal {
            Some(Signal::AddAddress { address, hmac: None }) => {
                let identifier = self.address_ids.get(&address.number).copied().unwrap_or(address.identifier);
                Some(Signal::AddAddress { address: Announced { identifier, ..address }, hmac: None })
            }
            other => other,
        };
        Multipath { signal, ..*multipath }
    }

    /// Reads a segment of the guest on side `from`. `None`: the bytes are no segment.
    pub fn read(&mut self, bytes: &[u8], from: usize, way: u16, first: u16) -> Option<(Segment, Extra)> {
        let (header, payload, ecn) = tcp::open(bytes).ok()?;
        let client = if from == 0 { header.source_port } else { header.destination_port };
        if self.ports.is_empty() {
            self.note_port(first);
        }
        let number = self.note_port(client);
        let (mut segment, mut extra) = tcp::segment(&header, payload.len(), ecn);
        let mut multipath = Multipath { tuple: Tuple { pair: way, port: number }, dss: None, signal: None };
        for option in header.options.mptcp.iter() {
            match option {
                MptcpOption::Dss(dss) => multipath.dss = Some(self.read_data_sequence(&dss)),
                option => multipath.signal = self.read_signal(option, from).or(multipath.signal),
            }
        }
        self.starts.note(from, &multipath);
        let heard = &mut self.subflows[usize::from(number)];
        if header.flags.contains(vazao_wire::tcp::Flags::SYN) {
            heard.0 = header.sequence;
        }
        let first = self.starts.0[from];
        heard.1 = match (multipath.signal, multipath.dss) {
            // MP_CAPABLE carries the first mapping.
            (Some(Signal::Capable { length: Some((length, _)), .. }), _) => {
                first.map(|dsn| Mapping { dsn, subflow: 1, length, checksum: None })
            }
            (_, Some(Dss { map: Some(map), .. })) if map.subflow != 0 => Some(map),
            // Without a mapping, the last one still holds.
            _ => heard.1,
        };
        if !payload.is_empty() {
            let place = header.sequence.wrapping_sub(heard.0);
            let mapped = heard.1.zip(first).map(|(map, first)| {
                let beyond = place.wrapping_sub(map.subflow) as i32;
                map.dsn.wrapping_add_signed(i64::from(beyond)).wrapping_sub(first)
            });
            // Without any mapping, the subflow's own sequence numbers count.
            segment.stamp = tcp::stamp_of(payload, mapped.unwrap_or(u64::from(place.wrapping_sub(1))));
        }
        segment.has_extra = true;
        extra.multipath = Some(multipath);
        Some((segment, extra))
    }

    fn read_data_sequence(&mut self, dss: &WireDss) -> Dss {
        let near = &mut self.last_dsn;
        let map = dss.mapping.filter(|map| map.length > 0).map(|map| {
            let dsn = match map.data_sequence {
                DataSequence::Long(dsn) => dsn,
                DataSequence::Short(low) => near.wrapping_add_signed(i64::from(low.wrapping_sub(*near as u32) as i32)),
            };
            *near = dsn;
            // The content itself shows whether data was altered.
            Mapping { dsn, subflow: map.subflow_sequence, length: map.length, checksum: None }
        });
        let ack = dss.ack.map(|ack| match ack {
            DataSequence::Short(low) => DataAck::Short(low),
            DataSequence::Long(whole) => DataAck::Long(whole),
        });
        Dss { ack, map, fin: dss.data_fin }
    }

    fn read_signal(&mut self, option: MptcpOption, from: usize) -> Option<Signal> {
        let number = |side: usize, address| self.hosts[side].iter().position(|&known| known == address);
        Some(match option {
            MptcpOption::Capable(Capable { keys, checksum_required: checksum, .. }) => {
                let (key, peer, length) = match keys {
                    Keys::None => (None, None, None),
                    Keys::Sender(key) => (Some(key), None, None),
                    Keys::Both { sender, receiver } => (Some(sender), Some(receiver), None),
                    Keys::WithData { sender, receiver, length, .. } => {
                        (Some(sender), Some(receiver), Some((length, None)))
                    }
                };
                Signal::Capable { key, peer, length, checksum }
            }
            MptcpOption::Join(Join::Syn { backup, address_id: address, token, nonce }) => {
                Signal::Join { backup, address, token, nonce }
            }
            MptcpOption::Join(Join::SynAck { backup, address_id: address, truncated_hmac: hmac, nonce }) => {
                Signal::JoinAnswer { backup, address, hmac, nonce }
            }
            MptcpOption::Join(Join::Ack { hmac }) => Signal::JoinProof(hmac),
            MptcpOption::AddAddress(AddAddress { address_id, address, proof, .. }) => match proof {
                Proof::Echo => {
                    let address = Announced { number: number(1 - from, address)? as u8, identifier: address_id };
                    Signal::AddAddress { address, hmac: None }
                }
                Proof::TruncatedHmac(hmac) => {
                    let address = Announced { number: number(from, address)? as u8, identifier: address_id };
                    self.address_ids.insert(address.number, address_id);
                    Signal::AddAddress { address, hmac: Some(hmac) }
                }
                Proof::Version0 => return None,
            },
            MptcpOption::RemoveAddress(ids) => {
                let gone = ids.as_slice().first()?;
                let number = *self.address_ids.iter().find(|(_, name)| *name == gone)?.0;
                Signal::RemoveAddress(Announced { number, identifier: *gone })
            }
            MptcpOption::Priority { backup, .. } => Signal::Priority { backup },
            MptcpOption::Fail { data_sequence } => Signal::Fail(data_sequence),
            MptcpOption::FastClose { receiver_key } => Signal::FastClose(receiver_key),
            MptcpOption::Reset { .. } => Signal::Reset(mptcp::reason::UNSPECIFIED),
            MptcpOption::Dss(_) => return None,
        })
    }
}
