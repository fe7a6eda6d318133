//! Opening of connections and subflows (RFC 8684 sections 3.1, 3.2), and middleboxes that remove options.

use crate::lab::{Application, Lab, at, config, mesh, paced, pairs, tuple, with};
use vazao_transport::mptcp::keys::{Hash, Secret, truncate};
use vazao_transport::mptcp::{Config, Multipath, Signal, reason};
use vazao_transport::tcp::Flags;

fn two_paths(bytes: u64) -> Lab {
    let mut lab = Lab::new(config(&[]), bytes, vec![paced(10), paced(20)]);
    lab.paths.logs = true;
    lab
}

fn key(signal: Option<Signal>) -> Option<u64> {
    if let Some(Signal::Capable { key, .. }) = signal { key } else { None }
}

/// Section 3.1, figure 4: no key in the SYN (version 1), the server's in the SYN-ACK, both in the third segment; data
/// sequence numbers begin where the keys say.
#[test]
fn keys_are_exchanged() {
    let mut lab = two_paths(2 << 20);
    lab.run(10);
    lab.assert_complete();
    let [syn, answer, third] = [0, 1, 2].map(|at| lab.paths.log[at]);
    assert!(matches!(syn.signal(), Some(Signal::Capable { key: None, peer: None, length: None, .. })));
    let server = key(answer.signal()).expect("a key");
    let Some(Signal::Capable { key: Some(client), peer, length: None, .. }) = third.signal() else {
        panic!("{third:?}")
    };
    assert_eq!(peer, Some(server));
    assert_eq!(third.segment.length, 0);
    let first = Hash::Sha256.initial_data_sequence(client).wrapping_add(1);
    let with_data = lab.paths.log.iter().find(|seen| seen.segment.length > 0).expect("data");
    assert!(matches!(with_data.signal(), Some(Signal::Capable { length: Some((1424, None)), .. })), "{with_data:?}");
    let second = lab.paths.log.iter().find_map(|seen| seen.dss().map).expect("a mapping");
    assert_eq!((second.dsn, second.subflow), (first.wrapping_add(1424), 1425));
}

/// Section 3.2, figure 8: token and nonce, the server's truncated HMAC and nonce, the client's HMAC, an
/// acknowledgement; no data before that.
#[test]
fn a_subflow_joins() {
    let mut lab = two_paths(2 << 20);
    lab.run(10);
    lab.assert_complete();
    let keys = [2, 1].map(|at| key(lab.paths.log[at].signal()).expect("a key"));
    let joining: Vec<_> = lab.paths.log.iter().filter(|seen| seen.pair() == 1).take(4).collect();
    let Some(Signal::Join { token, nonce, backup: false, .. }) = joining[0].signal() else {
        panic!("{:?}", joining[0])
    };
    assert_eq!(token, Hash::Sha256.token(keys[1]));
    let Some(Signal::JoinAnswer { hmac, nonce: other, .. }) = joining[1].signal() else { panic!("{:?}", joining[1]) };
    let [client, server] = [Secret { key: keys[0], nonce }, Secret { key: keys[1], nonce: other }];
    assert_eq!(hmac, truncate(Hash::Sha256.join_hmac(server, client)));
    assert_eq!(joining[2].signal(), Some(Signal::JoinProof(Hash::Sha256.join_hmac(client, server))));
    assert_eq!((joining[3].from, joining[3].segment.length), (1, 0), "the fourth segment");
    let data = lab.paths.log.iter().find(|seen| seen.pair() == 1 && seen.segment.length > 0).expect("data");
    // Two round trips of 40 ms after its SYN, plus the transmission times of the segments.
    let after = data.at.since(joining[0].at);
    assert!((80..85).contains(&(after.as_nanos() / 1_000_000)), "{after:?}");
}

/// A lost third or fourth segment is sent again after a retransmission timeout, and data waits for that.
#[test]
fn the_third_ack_is_repeated_until_answered() {
    for lost in [2, 3] {
        let mut lab = two_paths(2 << 20);
        let mut count = 0;
        lab.middlebox = Box::new(move |_, _, _, extra| {
            count += u32::from(tuple(extra).pair == 1);
            tuple(extra).pair != 1 || count != lost + 1
        });
        lab.run(10);
        lab.assert_complete();
        let proofs = lab.paths.log.iter().filter(|seen| matches!(seen.signal(), Some(Signal::JoinProof(_)))).count();
        assert_eq!(proofs, 2, "segment {lost} is lost");
        assert_eq!(lab.ends.each_ref().map(|end| end.mptcp.stats().joined), [1, 1]);
    }
}

/// A wrong HMAC of either side, or an unknown token: no subflow, and the connection goes on.
#[test]
fn joins_need_the_keys() {
    let wrong: [fn(&mut Signal); 3] = [
        |signal| {
            if let Signal::Join { token, .. } = signal {
                *token ^= 1
            }
        },
        |signal| {
            if let Signal::JoinAnswer { hmac, .. } = signal {
                *hmac ^= 1
            }
        },
        |signal| {
            if let Signal::JoinProof(hmac) = signal {
                hmac[19] ^= 1
            }
        },
    ];
    for (case, alter) in wrong.into_iter().enumerate() {
        let mut lab = two_paths(2 << 20);
        lab.middlebox = Box::new(move |_, _, _, extra| {
            if let Some(Multipath { signal: Some(signal), .. }) = &mut extra.multipath {
                alter(signal);
            }
            true
        });
        lab.run(30);
        lab.assert_complete();
        let data = lab.paths.log.iter().any(|seen| seen.pair() == 1 && seen.segment.length > 0);
        assert!(!data, "case {case}");
        let reset =
            lab.paths.log.iter().find(|seen| seen.pair() == 1 && seen.segment.flags.has(Flags::RST)).expect("a reset");
        assert_eq!(reset.signal(), Some(Signal::Reset(reason::MPTCP)), "case {case}");
    }
}

/// The third segment and the first data are lost: segments without keys that follow are not taken for plain TCP.
#[test]
fn keys_are_repeated_until_they_are_known() {
    let mut lab = two_paths(2 << 20);
    let mut left = 2;
    lab.middlebox = Box::new(move |_, from, _, extra| {
        let keys = from == 0 && key(extra.multipath.and_then(|multipath| multipath.signal)).is_some();
        left -= i32::from(keys && left > 0);
        !keys
            || left < 0
            || left == 0 && {
                left = -1;
                false
            }
    });
    lab.run(10);
    lab.assert_complete();
    assert!(lab.ends.iter().all(|end| end.mptcp.is_multipath()));
}

fn strip(from: usize, which: fn(Flags) -> bool) -> Lab {
    let mut answers = Application::sends(50_000);
    answers.closes_second = true;
    let pairs = (pairs(2), vec![paced(10), paced(20)]);
    let mut lab = Lab::between((config(&[]), Application::sends(100_000)), (config(&[]), answers), pairs, 3);
    lab.paths.logs = true;
    lab.middlebox = Box::new(move |_, end, segment, extra| {
        if end == from
            && which(segment.flags)
            && let Some(multipath) = &mut extra.multipath
        {
            (multipath.dss, multipath.signal) = (None, None);
        }
        true
    });
    lab
}

/// Section 3.7: options removed from SYNs, SYN-ACKs, or all later segments, in either direction: plain TCP.
#[test]
fn a_connection_falls_back_where_options_are_taken_out() {
    let syn: fn(Flags) -> bool = |flags| flags.has(Flags::SYN);
    let rest: fn(Flags) -> bool = |flags| !flags.has(Flags::SYN);
    for (from, which) in [(0, syn), (1, syn), (0, rest), (1, rest)] {
        let mut lab = strip(from, which);
        lab.run(30);
        lab.assert_complete();
        assert!(lab.ends.iter().all(|end| !end.mptcp.is_multipath()), "options of {from} are taken out");
        assert!(lab.paths.log.iter().all(|seen| seen.pair() == 0), "there is one subflow");
    }
}

/// Options removed after both sides have used them, as after a route change, on the only subflow.
#[test]
fn a_connection_falls_back_in_its_midst() {
    for from in [0, 1] {
        let server = Application { closes_second: true, ..Application::sends(300_000) };
        let settings = with(&[], "reno", "lowest-rtt", "default");
        let pairs = (pairs(1), vec![paced(10)]);
        let mut lab = Lab::between((settings.clone(), Application::sends(300_000)), (settings, server), pairs, 3);
        lab.middlebox = Box::new(move |now, end, _, extra| {
            if now > at(70)
                && end == from
                && let Some(multipath) = &mut extra.multipath
            {
                (multipath.dss, multipath.signal) = (None, None);
            }
            true
        });
        lab.run(30);
        lab.assert_complete();
        assert!(lab.ends.iter().all(|end| !end.mptcp.is_multipath()), "options of {from} are taken out");
    }
}

/// Section 3.4.1: an address is advertised until it is echoed, and then has its subflows.
#[test]
fn an_address_is_announced_until_it_is_echoed() {
    for lost in 0..3 {
        let pairs = (mesh(1, 2), vec![paced(10), paced(20)]);
        let settings: Config = config(&[]);
        let mut lab =
            Lab::between((settings.clone(), Application::sends(4 << 20)), (settings, Application::sends(0)), pairs, 1);
        lab.paths.logs = true;
        let mut left = lost;
        lab.middlebox = Box::new(move |_, _, _, extra| {
            let signal = extra.multipath.and_then(|multipath| multipath.signal);
            let hit = matches!(signal, Some(Signal::AddAddress { hmac: Some(_), .. })) && left > 0;
            left -= u32::from(hit);
            !hit
        });
        lab.run(30);
        lab.assert_complete();
        let announced = |echo| move |seen: &&crate::lab::Sent| matches!(seen.signal(), Some(Signal::AddAddress { hmac, .. }) if hmac.is_none() == echo);
        assert_eq!(lab.paths.log.iter().filter(announced(false)).count(), 1 + lost as usize);
        assert_eq!(lab.paths.log.iter().filter(announced(true)).count(), 1);
        assert_eq!(lab.ends[1].mptcp.stats().joined, 1);
    }
}

/// Section 3.4.1: an address without a valid HMAC is ignored, and not echoed.
#[test]
fn an_address_needs_a_valid_hmac() {
    let pairs = (mesh(1, 2), vec![paced(10), paced(20)]);
    let settings: Config = config(&[]);
    let mut lab =
        Lab::between((settings.clone(), Application::sends(4 << 20)), (settings, Application::sends(0)), pairs, 1);
    lab.paths.logs = true;
    lab.middlebox = Box::new(|_, _, _, extra| {
        if let Some(Signal::AddAddress { hmac: Some(hmac), .. }) =
            extra.multipath.as_mut().and_then(|all| all.signal.as_mut())
        {
            *hmac ^= 1;
        }
        true
    });
    lab.run(30);
    lab.assert_complete();
    let said = |echo| move |seen: &&crate::lab::Sent| matches!(seen.signal(), Some(Signal::AddAddress { hmac, .. }) if hmac.is_none() == echo);
    assert!(lab.paths.log.iter().filter(said(false)).count() > 1, "it is announced again and again");
    assert_eq!(lab.paths.log.iter().filter(said(true)).count(), 0);
    assert_eq!(lab.ends[1].mptcp.stats().joined, 0);
}
