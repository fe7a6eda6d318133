//! Every application, by name.

use crate::{Application, Sink, Source};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters, Value};

/// The two sides of an application, and which of them sends.
#[derive(Clone, Debug)]
pub struct Sides {
    /// At the end that opens the connection.
    pub client: Application,
    /// At the other end.
    pub server: Application,
    /// Whether the client sends the data that is measured.
    pub client_sends: bool,
}

impl Sides {
    /// The side that sends.
    pub fn source(&self) -> &Source {
        match (&self.client, &self.server) {
            (Application::Source(source), _) | (_, Application::Source(source)) => source,
            _ => unreachable!("one side of a bulk transfer is its source"),
        }
    }
}

const SIZE: Parameter = Parameter::new("size", Kind::Size(1), "", "bytes to transfer; without it, until the run ends");
const DURATION: Parameter = Parameter::new(
    "duration",
    Kind::Duration(Duration::from_nanos(1), Duration::MAX),
    "",
    "how long to send, from the moment the connection stands; with a size too, whichever ends first",
);
const READ_RATE: Parameter =
    Parameter::new("read_rate", Kind::Rate, "", "how fast the receiving application reads; without it, at once");
const BULK: &[Parameter] = &[SIZE, DURATION, READ_RATE];

fn bulk(parameters: &Parameters) -> (Application, Application) {
    let read_rate = match parameters.get("read_rate") {
        Some(Value::Rate(rate)) => Some(*rate),
        _ => None,
    };
    let source = Source::new(parameters.size("size"), parameters.duration("duration"));
    (Application::Source(source), Application::Sink(Sink::new(read_rate)))
}

/// Makes both sides of an application from its parameters.
pub type Constructor = fn(&Parameters) -> Sides;

/// All applications.
pub const APPLICATIONS: &[Entry<Constructor>] = &[
    Entry {
        name: "upload",
        aliases: &["bulk"],
        title: "Upload",
        source: "a long file transfer (FTP in the older literature)",
        help: "the client sends a number of bytes, for a time, or until the run ends",
        parameters: BULK,
        build: |p| {
            let (client, server) = bulk(p);
            Sides { client, server, client_sends: true }
        },
    },
    Entry {
        name: "download",
        aliases: &[],
        title: "Download",
        source: "a long file transfer (FTP in the older literature)",
        help: "the client connects and the server sends",
        parameters: BULK,
        build: |p| {
            let (server, client) = bulk(p);
            Sides { client, server, client_sends: false }
        },
    },
];
