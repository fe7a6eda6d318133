//! A whole handshake made up from a number: its messages, and the secrets that follow from them.

use super::message::{self, BINDER, Hello, Ticket};
use super::schedule::{Schedule, Secret, derive, expand_label, hash, verify_data};
use crate::content;

/// Resumption of an earlier handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Not at all.
    None,
    /// Ticket of so many bytes, with early data that the server accepts.
    Accepted(usize),
    /// Ticket that the server rejects.
    Rejected(usize),
}

/// Content of a handshake.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Secret from which all random values are drawn.
    pub seed: Secret,
    /// The server's name.
    pub name: &'a str,
    /// Application protocol (RFC 7301).
    pub protocol: &'a str,
    /// The QUIC transport parameters of client and server.
    pub transport: [Vec<u8>; 2],
    /// Whether there was one before.
    pub resumption: Resumption,
    /// Bytes of the Certificate message, where there is one.
    pub certificate: usize,
}

/// A handshake: what each side says, and what it comes to. Pairs are the client's and the server's.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// The client's random, by which key logs know a connection.
    pub random: Secret,
    /// ClientHello; ServerHello.
    pub hellos: [Vec<u8>; 2],
    /// Finished; EncryptedExtensions, what proves the server, Finished.
    pub flights: [Vec<u8>; 2],
    /// client_early_traffic_secret.
    pub early: Secret,
    /// Handshake traffic secrets.
    pub handshake: [Secret; 2],
    /// Application traffic secrets.
    pub application: [Secret; 2],
}

impl Handshake {
    /// Creates the handshake of a plan.
    pub fn new(plan: &Plan<'_>) -> Handshake {
        let random = |label| expand_label::<32>(&plan.seed, label, &[]);
        let ticket = match plan.resumption {
            Resumption::None => None,
            Resumption::Accepted(bytes) | Resumption::Rejected(bytes) => Some(ticket(bytes)),
        };
        let resumed = matches!(plan.resumption, Resumption::Accepted(_));
        let [pre_shared, shared] = ["pre-shared key", "shared secret"].map(random);
        let hello = |random_label, share| Hello { random: random(random_label), key_share: random(share) };
        let client = hello("client random", "client share");
        let mut client_hello =
            message::client_hello(&client, plan.name, plan.protocol, &plan.transport[0], ticket.as_ref());
        let offered = Schedule::new(Some(&pre_shared), &shared);
        if ticket.is_some() {
            bind(&mut client_hello, &offered);
        }
        let server_hello = message::server_hello(&hello("server random", "server share"), resumed);
        let schedule = if resumed { offered } else { Schedule::new(None, &shared) };
        let handshake = pair(&schedule.handshake, ["c hs traffic", "s hs traffic"], &[&client_hello, &server_hello]);

        let mut server = message::encrypted_extensions(plan.protocol, &plan.transport[1], resumed);
        if !resumed {
            server.extend(message::certificate_message(plan.certificate));
            server.extend(message::certificate_verify());
        }
        let transcript = hash(&[&client_hello, &server_hello, &server]);
        server.extend(message::finished(&verify_data(&handshake[1], &transcript)));
        let transcript = [&client_hello[..], &server_hello, &server];
        let application = pair(&schedule.master, ["c ap traffic", "s ap traffic"], &transcript);
        let client_finished = message::finished(&verify_data(&handshake[0], &hash(&transcript)));
        Handshake {
            random: client.random,
            early: derive(&offered.early, "c e traffic", &hash(&[&client_hello])),
            hellos: [client_hello, server_hello],
            flights: [client_finished, server],
            handshake,
            application,
        }
    }

    /// Returns its secrets as lines of the key log that NSS began and Wireshark reads.
    pub fn key_log(&self) -> String {
        let lines = [
            ("CLIENT_EARLY_TRAFFIC_SECRET", &self.early),
            ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &self.handshake[0]),
            ("SERVER_HANDSHAKE_TRAFFIC_SECRET", &self.handshake[1]),
            ("CLIENT_TRAFFIC_SECRET_0", &self.application[0]),
            ("SERVER_TRAFFIC_SECRET_0", &self.application[1]),
        ];
        lines.iter().map(|(label, secret)| format!("{label} {} {}\n", hex(&self.random), hex(secret))).collect()
    }
}

fn hex(secret: &Secret) -> String {
    secret.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the traffic secrets of both sides.
fn pair(secret: &Secret, labels: [&str; 2], transcript: &[&[u8]]) -> [Secret; 2] {
    let transcript = hash(transcript);
    labels.map(|label| derive(secret, label, &transcript))
}

fn ticket(bytes: usize) -> Ticket {
    let mut identity = vec![0; bytes];
    content::fill(0, &mut identity);
    Ticket { identity, obfuscated_age: 0 }
}

/// Fills in a ClientHello's binder, which is of all before the binders (RFC 8446 section 4.2.11.2).
fn bind(client_hello: &mut [u8], schedule: &Schedule) {
    let key = derive(&schedule.early, "res binder", &hash(&[]));
    let at = client_hello.len() - BINDER;
    let binder = verify_data(&key, &hash(&[&client_hello[..at - 3]]));
    client_hello[at..].copy_from_slice(&binder);
}
