//! Notifications to applications (RFC 6458 section 6.1).

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use crate::pair::{answer, converse, standing};
use vazao_engine::registry::Raw;
use vazao_transport::ByteStream;
use vazao_transport::sctp::{Cause, Data, DataFlags, Notification, Packet};

fn watched(given: &[(&str, Raw)], bytes: u64, paths: Vec<Weather>) -> Lab {
    let mut lab = Lab::new(config(Some(1000), given), bytes, paths, 3);
    lab.ends.iter_mut().for_each(|end| end.sctp.watch_notifications());
    lab
}

fn told(lab: &mut Lab) -> [Vec<Notification>; 2] {
    lab.ends.each_mut().map(|end| end.sctp.notifications())
}

#[test]
fn a_transfer_from_its_beginning_to_its_end() {
    use Notification::{PathConfirmed, PeerShutdown, SenderDry, ShutdownComplete, Up};
    let mut lab = watched(&[], 100_000, vec![Weather::fair(50); 2]);
    lab.run(100);
    lab.assert_delivered(100_000);
    let client = vec![Up, PathConfirmed(1), SenderDry, ShutdownComplete];
    assert_eq!(told(&mut lab), [client, vec![Up, PathConfirmed(1), PeerShutdown, ShutdownComplete]]);
}

/// A path is potentially failed after one timeout, inactive after two, and comes back with its first heartbeat answer.
#[test]
fn a_path_fails_and_comes_back() {
    use Notification::{PathConfirmed, PathDoubtful, PathDown, PathUp, Up};
    let given = [
        ("pf_retries", Raw::Number(0.0)),
        ("path_retries", Raw::Number(1.0)),
        ("heartbeat", text("1 s")),
        // So that there is always something to send.
        ("receive_buffer", text("64 KiB")),
    ];
    let paths = vec![Weather { outages: vec![100..6_000; 1], ..Weather::fair(10) }, Weather::fair(20)];
    let mut lab = watched(&given, 200_000_000, paths);
    lab.run_until(100, |lab| lab.paths.now.as_secs() > 6.0);
    lab.run_until(100, |lab| lab.sender().paths()[0].is_active());
    assert_eq!(told(&mut lab)[0], [Up, PathConfirmed(1), PathDoubtful(0), PathDown(0), PathUp(0)]);
}

/// After an abort by the peer, the application learns that the association is lost, and which messages may not have
/// arrived.
#[test]
fn messages_lost_with_the_association() {
    let mut lab = watched(&[], 1 << 20, vec![Weather::fair(50)]);
    lab.run_until(10, |lab| lab.ends[1].user.received > 100_000);
    lab.ends[1].sctp.abort();
    lab.run(100);
    let [client, server] = told(&mut lab);
    assert_eq!((client[..2].to_vec(), server), (vec![Notification::Up, Notification::Lost], client[..2].to_vec()));
    let failed: Vec<u32> = client[2..].iter().filter_map(failed).collect();
    assert_eq!(failed.len(), client.len() - 2);
    // In order, from the first unacknowledged message to the last one sent.
    let sent = lab.sender().stats().messages_sent;
    assert_eq!(failed, (sent as u32 - failed.len() as u32..sent as u32).collect::<Vec<_>>());
    assert!(u64::from(failed[0]) * 1000 <= lab.ends[1].user.received, "nothing before it is unknown");
}

fn failed(what: &Notification) -> Option<u32> {
    if let Notification::SendFailed(message) = what { Some(*message) } else { None }
}

#[test]
fn nobody_is_there() {
    let mut lab = watched(&[], 1000, vec![Weather::fair(50)]);
    lab.lose = Box::new(|_, _, _| true);
    lab.run(10_000);
    assert_eq!(told(&mut lab)[0], [Notification::CannotStart]);
}

#[test]
fn each_abandoned_message_is_reported_once() {
    let given = [("partial_reliability", text("timed")), ("lifetime", text("200 ms"))];
    let mut lab = watched(&given, 500_000, vec![Weather { loss: 10, ..Weather::fair(20) }]);
    lab.run(100);
    lab.assert_accounted();
    let mut named: Vec<u64> = told(&mut lab)[0].iter().filter_map(failed).map(u64::from).collect();
    named.sort_unstable();
    let abandoned = lab.sender().abandoned_messages().expect("it is partially reliable");
    assert_eq!(named, abandoned.iter().flat_map(|(first, end)| first..end).collect::<Vec<_>>());
    assert!(!named.is_empty());
}

#[test]
fn a_peer_that_restarts() {
    use Notification::{PeerShutdown, Restart, ShutdownComplete, Up};
    let mut lab = watched(&[], 600_000, vec![Weather::fair(20)]);
    lab.run_until(10, |lab| lab.ends[1].user.received > 100_000);
    lab.restart_client();
    lab.run(100);
    assert_eq!(told(&mut lab)[1], [Up, Restart, PeerShutdown, ShutdownComplete]);
}

/// Whatever is written and acknowledged, the sender is reported dry once for each time that it was not.
#[test]
fn a_sender_is_dry_each_time() {
    let (mut client, mut server) = standing(&[]);
    client.watch_notifications();
    for ms in 1..4 {
        client.set_clock(at(ms));
        client.write(3_000);
        converse(&mut client, &mut server, at(ms));
        server.handle_timeout(at(ms) + vazao_engine::Duration::from_secs(1));
        converse(&mut client, &mut server, at(ms) + vazao_engine::Duration::from_secs(1));
        assert_eq!(client.notifications(), [Notification::SenderDry]);
    }
}

#[test]
fn errors_from_the_peer() {
    let (mut client, mut server) = standing(&[]);
    client.watch_notifications();
    let data = Data { tsn: 100, stream: 5, length: 100, flags: DataFlags::WHOLE, ..Data::default() };
    let error = answer(&mut server, at(1), &Packet { tag: 9, data: vec![data], ..Packet::default() });
    // It is bundled with a SACK of data that this client has never sent.
    client.handle(at(1), 0, &Packet { sack: None, ..error.expect("ERROR") });
    assert_eq!(client.notifications(), [Notification::RemoteError(Cause::InvalidStream(5))]);
}

/// Each notification has a name of its own.
#[test]
fn names_are_in_the_order_of_codes() {
    use Notification as N;
    let named = [
        (N::Up, "comm-up"),
        (N::Restart, "restart"),
        (N::Lost, "comm-lost"),
        (N::ShutdownComplete, "shutdown-complete"),
        (N::CannotStart, "cannot-start"),
        (N::PathConfirmed(1), "address-confirmed"),
        (N::PathUp(1), "address-available"),
        (N::PathDown(1), "address-unreachable"),
        (N::PathDoubtful(1), "address-potentially-failed"),
        (N::RemoteError(Cause::OutOfResource), "remote-error"),
        (N::SendFailed(1), "send-failed"),
        (N::PeerShutdown, "shutdown"),
        (N::SenderDry, "sender-dry"),
        (N::PartialDeliveryAborted(1), "partial-delivery-aborted"),
    ];
    assert_eq!(named.len(), N::NAMES.len());
    for (what, name) in named {
        assert_eq!(N::NAMES[usize::from(what.code())], name);
    }
}
