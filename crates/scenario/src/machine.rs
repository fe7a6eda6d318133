//! Our machines as the world moves them, whatever the protocol.
//!
//! An enum and no trait object: each protocol's packets keep a type of their own in [`Body`](crate::world::Body), so the
//! world hands them over and sends them in an arm of its own, and the inner loop is one branch away from TCP.

use crate::multihomed::Multihomed;
use crate::multipath::Bundle;
use vazao_application::Application;
use vazao_engine::Time;
use vazao_transport::library::Library;
use vazao_transport::quic;
use vazao_transport::tcp::Connection;
use vazao_transport::tls::Session;
use vazao_transport::udp;

/// One end of a flow, played by one of our transports.
// In place: a machine is made once a flow and looked at in every event.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Machine {
    Tcp(Connection),
    Udp(udp::Endpoint),
    Sctp(Box<Multihomed>),
    Mptcp(Box<Bundle>),
    Quic(Box<quic::Connection>),
    Library(Box<dyn Library>),
}

impl Machine {
    /// When it is to be woken.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        match self {
            Machine::Tcp(connection) => connection.next_timeout(),
            Machine::Udp(endpoint) => endpoint.next_timeout(),
            Machine::Sctp(end) => end.association.next_timeout(),
            Machine::Mptcp(end) => end.connection.next_timeout(),
            Machine::Quic(connection) => connection.next_timeout(),
            Machine::Library(end) => end.next_timeout(),
        }
    }

    /// Lets its application act.
    #[inline]
    pub fn drive(&mut self, now: Time, application: &mut Application) {
        match self {
            Machine::Tcp(connection) => application.drive(now, connection),
            Machine::Udp(endpoint) => drive_datagrams(application, now, endpoint),
            Machine::Sctp(end) => drive_messages(application, now, end),
            Machine::Mptcp(end) => drive_bundle(application, now, end),
            Machine::Quic(connection) => drive_quic(application, now, connection),
            Machine::Library(end) => drive_library(application, now, end),
        }
    }

    /// The same, over TLS.
    #[cold]
    pub fn drive_over_tls(&mut self, now: Time, session: &mut Session, application: &mut Application) {
        if let Machine::Tcp(connection) = self {
            session.pump(now, connection);
            application.drive(now, &mut session.over(connection));
        }
    }

    /// Whether it has nothing more to do.
    #[inline]
    pub fn is_over(&self) -> bool {
        match self {
            Machine::Tcp(connection) => connection.is_over(),
            Machine::Udp(endpoint) => endpoint.is_over(),
            Machine::Sctp(end) => end.association.is_over(),
            Machine::Mptcp(end) => end.connection.is_over(),
            Machine::Quic(connection) => connection.is_over(),
            Machine::Library(end) => end.is_over(),
        }
    }

    /// How often data came that was not what belongs at its place.
    pub fn misplaced(&self) -> u64 {
        match self {
            Machine::Tcp(connection) => connection.stats().misplaced,
            Machine::Mptcp(end) => end.connection.stats().misplaced + end.sum(|stats| stats.misplaced),
            Machine::Sctp(end) => end.association.stats().misplaced,
            Machine::Quic(connection) => connection.stats().misplaced,
            Machine::Library(end) => end.report().misplaced,
            Machine::Udp(_) => 0,
        }
    }

    /// Gives back memory that it needs only while it is busy.
    pub fn shrink(&mut self) {
        match self {
            Machine::Tcp(connection) => connection.shrink(),
            Machine::Sctp(end) => end.association.shrink(),
            Machine::Quic(connection) => connection.shrink(),
            Machine::Udp(_) | Machine::Mptcp(_) | Machine::Library(_) => {}
        }
    }

    /// Why it gave up, if it did.
    pub fn failure(&self) -> Option<String> {
        match self {
            Machine::Tcp(connection) => connection.failure().map(|failure| failure.to_string()),
            Machine::Udp(_) => None,
            Machine::Sctp(end) => end.association.failure().map(|failure| failure.to_string()),
            Machine::Mptcp(end) => end.connection.failure().map(|failure| failure.to_string()),
            Machine::Quic(connection) => connection.failure().map(|failure| failure.to_string()),
            Machine::Library(end) => end.failure().map(str::to_owned),
        }
    }

    /// When its data might flow, if it has a connection.
    pub fn established(&self) -> Option<Time> {
        match self {
            Machine::Tcp(connection) => connection.stats().ready,
            Machine::Udp(_) => None,
            Machine::Sctp(end) => end.association.stats().established,
            Machine::Mptcp(end) => end.connection.stats().established,
            Machine::Quic(connection) => connection.stats().ready,
            Machine::Library(end) => end.report().ready,
        }
    }
}

/// Apart, so that the inner loop has the code of one protocol in it.
#[cold]
fn drive_datagrams(application: &mut Application, now: Time, endpoint: &mut udp::Endpoint) {
    application.drive(now, endpoint);
}

#[cold]
fn drive_messages(application: &mut Application, now: Time, end: &mut Multihomed) {
    end.association.set_clock(now);
    application.drive(now, &mut end.association);
}

#[cold]
fn drive_bundle(application: &mut Application, now: Time, end: &mut Bundle) {
    application.drive(now, &mut end.connection);
}

#[inline(never)]
fn drive_quic(application: &mut Application, now: Time, connection: &mut quic::Connection) {
    application.drive(now, connection);
}

#[cold]
fn drive_library(application: &mut Application, now: Time, end: &mut Box<dyn Library>) {
    end.set_clock(now);
    application.drive(now, end);
}
