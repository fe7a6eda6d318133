//! Every application, by name.

use crate::{Application, Pace, Sink, Source};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters, Value};
use vazao_engine::{Duration, Rate};

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
    /// The side that sends; programs keep theirs to themselves.
    pub fn source(&self) -> Option<&Source> {
        match (&self.client, &self.server) {
            (Application::Source(source), _) | (_, Application::Source(source)) => Some(source),
            _ => None,
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
const CBR: &[Parameter] = &[
    Parameter::new("rate", Kind::Rate, "1 Mbps", "rate of the messages' bytes"),
    Parameter::new("message", Kind::Size(1), "1000 B", "bytes of a message"),
    SIZE,
    DURATION,
    READ_RATE,
];
const MESSAGES: &[Parameter] = &[
    Parameter::new("message", Kind::Size(1), "1000 B", "bytes of a message"),
    Parameter::new(
        "interval",
        Kind::Duration(Duration::from_micros(1), Duration::MAX),
        "100 ms",
        "from the start of one message to the start of the next",
    ),
    Parameter::new("count", Kind::Integer(1, 1_000_000_000), "", "how many messages; without it, until the run ends"),
    DURATION,
    READ_RATE,
];
const COMMAND: &[Parameter] = &[
    Parameter::required("server", Kind::Text, "what the server runs, by a shell; {server}, {client} are addresses"),
    Parameter::required("client", Kind::Text, "what the client runs, likewise, once the flow starts"),
    Parameter::new(
        "measured",
        Kind::Choice(&["upload", "download"]),
        "upload",
        "which way the data goes that is measured: from the client or to it",
    ),
];

fn bulk(parameters: &Parameters) -> (Application, Application) {
    ends(parameters, Source::new(parameters.size("size"), parameters.duration("duration")))
}

fn ends(parameters: &Parameters, source: Source) -> (Application, Application) {
    (Application::Source(source), Application::Sink(Sink::new(rate(parameters, "read_rate"))))
}

fn rate(parameters: &Parameters, name: &str) -> Option<Rate> {
    match parameters.get(name) {
        Some(Value::Rate(rate)) => Some(*rate),
        _ => None,
    }
}

fn cbr(parameters: &Parameters) -> Sides {
    let message = parameters.size("message").expect("a size with a default");
    let rate = rate(parameters, "rate").expect("a rate with a default");
    let source = Source::new(parameters.size("size"), parameters.duration("duration"));
    let pace = Pace { message, interval: rate.time_for(message) };
    let (client, server) = ends(parameters, source.paced(pace));
    Sides { client, server, client_sends: true }
}

fn messages(parameters: &Parameters) -> Sides {
    let message = parameters.size("message").expect("a size with a default");
    let count = parameters.get("count").map(|_| parameters.integer("count"));
    let interval = parameters.duration("interval").expect("an interval with a default");
    let source = Source::new(count.map(|count| count * message), parameters.duration("duration"));
    let (client, server) = ends(parameters, source.paced(Pace { message, interval }));
    Sides { client, server, client_sends: true }
}

fn command(parameters: &Parameters) -> Sides {
    let program = |name| Application::Program(parameters.text(name).to_owned());
    let client_sends = parameters.text("measured") == "upload";
    Sides { client: program("client"), server: program("server"), client_sends }
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
    Entry {
        name: "cbr",
        aliases: &["constant-rate"],
        title: "Constant bit rate",
        source: "voice and uncompressed video in the older literature",
        help: "the client writes messages at a constant rate, whether or not the network keeps up",
        parameters: CBR,
        build: cbr,
    },
    Entry {
        name: "messages",
        aliases: &[],
        title: "Messages",
        source: "a message every so often",
        help: "the client writes messages of one size at a fixed interval",
        parameters: MESSAGES,
        build: messages,
    },
    Entry {
        name: "command",
        aliases: &[],
        title: "Programs of the host",
        source: "iperf3, curl, ping: whatever is installed, unmodified",
        help: "both sides run a command in their guest, with the host's files read-only; needs stack = \"linux\"",
        parameters: COMMAND,
        build: command,
    },
];
