//! Every application, by name.

use crate::web::{page, video};
use crate::{Application, Arrivals, Dialogue, Pattern, RandomStreams, Sink, Source, Visit, VisitEnd};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};
use vazao_engine::{Dimension, Duration, Law, Time};

/// The two sides of an application, and which of them sends.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Application at the end that opens the connection.
    pub client: Application,
    /// Application at the other end.
    pub server: Application,
    /// Whether the client sends the data that is measured.
    pub client_sends: bool,
}

impl Sides {
    /// Returns the ends of one of a visit's connections.
    pub fn of_visit(visit: u32, connection: u32) -> Sides {
        let end = Application::Visit(VisitEnd { visit, connection, wake: Time::NEVER });
        Sides { client: end.clone(), server: end, client_sends: false }
    }
    /// Returns the side that sends, if only one does.
    pub fn source(&self) -> Option<&Source> {
        match (&self.client, &self.server) {
            (Application::Source(source), _) | (_, Application::Source(source)) => Some(source),
            _ => None,
        }
    }
    /// Returns whether the sides are programs of a guest, which report nothing.
    pub fn is_program(&self) -> bool {
        self.programs().is_some()
    }
    /// Returns the commands of client and server, if they are programs of a host.
    pub fn programs(&self) -> Option<[&str; 2]> {
        match (&self.client, &self.server) {
            (Application::Program(client), Application::Program(server)) => Some([client, server]),
            _ => None,
        }
    }
    /// Returns whether only the run's end would end it.
    pub fn is_endless(&self) -> bool {
        match &self.client {
            Application::Client(client) => client.is_endless(),
            _ => self.source().is_some_and(Source::is_endless),
        }
    }
    /// Returns whether data comes message by message.
    pub fn is_paced(&self) -> bool {
        self.source().is_some_and(Source::is_paced)
    }
    /// Returns its duration, if one was given.
    pub fn duration(&self) -> Option<Duration> {
        match &self.client {
            Application::Client(client) => client.duration(),
            _ => self.source().and_then(Source::duration),
        }
    }
    /// Bytes of the measured data, exactly or on average, if that was said.
    pub fn volume(&self) -> Option<f64> {
        match &self.client {
            Application::Client(client) => client.volume(),
            _ => self.source().and_then(Source::size).map(|size| size as f64),
        }
    }
}

/// Function that makes an application from its parameters.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// Both sides of a flow's application.
    Sides(fn(&Parameters, RandomStreams) -> Sides),
    /// Flows that arrive one after the other, each an upload or a download.
    Arrivals(fn(&Parameters) -> Arrivals),
    /// Both sides and all connections of what is done with a web server.
    Visit(fn(&Parameters, RandomStreams) -> Visit),
}

const SIZE: Parameter =
    Parameter::new("size", Kind::Size(1, u64::MAX), "", "bytes to transfer; without it, until the run ends");
const DURATION: Parameter = Parameter::new(
    "duration",
    Kind::Duration(Duration::from_nanos(1), Duration::MAX),
    "",
    "how long to send, from the moment the connection stands; with a size too, whichever ends first",
);
const READ_RATE: Parameter =
    Parameter::new("read_rate", Kind::Rate, "", "how fast the receiving application reads; without it, at once");
const MESSAGE: Parameter = Parameter::new(
    "message",
    Kind::Size(1, u64::MAX),
    "",
    "bytes of a message over sctp; without it, what fits a packet",
);
const BULK: &[Parameter] = &[SIZE, DURATION, READ_RATE, MESSAGE];
const DOWNLOAD: &[Parameter] = &[
    SIZE,
    DURATION,
    READ_RATE,
    MESSAGE,
    Parameter::new(
        "request",
        Kind::Size(1, u64::MAX),
        "",
        "bytes with which the client asks for it; without, the server sends as soon as the connection stands",
    ),
];
const CBR: &[Parameter] = &[
    Parameter::new("rate", Kind::Rate, "1 Mbps", "rate of the messages' bytes"),
    Parameter::new("message", Kind::Size(1, u64::MAX), "1000 B", "bytes of a message"),
    SIZE,
    DURATION,
    READ_RATE,
];
const MESSAGES: &[Parameter] = &[
    Parameter::new("message", Kind::Size(1, u64::MAX), "1000 B", "bytes of a message"),
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
const ON_OFF: &[Parameter] = &[
    Parameter::new("rate", Kind::Rate, "1 Mbps", "rate of the messages' bytes while on"),
    Parameter::new("message", Kind::Size(1, u64::MAX), "1000 B", "bytes of a message"),
    Parameter::new("on", Kind::Distribution(Dimension::Time), "exponential 1 s", "how long it is on"),
    Parameter::new("off", Kind::Distribution(Dimension::Time), "exponential 1 s", "how long it is off after that"),
    SIZE,
    DURATION,
    READ_RATE,
];
const PACKETS: &[Parameter] = &[
    Parameter::new(
        "idt",
        Kind::Distribution(Dimension::Time),
        "1 ms",
        "inter-departure time: from the start of one packet to the start of the next",
    ),
    Parameter::new("ps", Kind::Distribution(Dimension::Size), "512 B", "packet size: bytes of payload"),
    Parameter::new("count", Kind::Integer(1, 1_000_000_000), "", "how many packets; without it, until the run ends"),
    SIZE,
    DURATION,
    READ_RATE,
];
const REQUESTS: &[Parameter] = &[
    Parameter::new("request", Kind::Distribution(Dimension::Size), "200 B", "bytes of a request"),
    Parameter::new("response", Kind::Distribution(Dimension::Size), "10 kB", "bytes of a response"),
    Parameter::new("think", Kind::Distribution(Dimension::Time), "0 s", "from a response to the request after it"),
    Parameter::new(
        "pipeline",
        Kind::Integer(1, 10_000),
        "1",
        "how many requests may wait for their responses at a time",
    ),
    Parameter::new("count", Kind::Integer(1, 1_000_000_000), "", "how many requests; without it, until the run ends"),
    Parameter::new(
        "duration",
        Kind::Duration(Duration::from_nanos(1), Duration::MAX),
        "",
        "for how long requests are made, from the moment the connection stands",
    ),
];
const ARRIVALS: &[Parameter] = &[
    Parameter::new(
        "interval",
        Kind::Distribution(Dimension::Time),
        "exponential 100 ms",
        "from one flow's start to the next one's; exponential: a Poisson process",
    ),
    Parameter::new(
        "sizes",
        Kind::Distribution(Dimension::Size),
        "web-search",
        "bytes of a flow: a distribution, or its points as [[\"1 kB\", 0.5], [\"1 MB\", 1]]",
    ),
    Parameter::new("count", Kind::Integer(1, Arrivals::MOST as i64), "", "how many flows at most"),
    Parameter::new(
        "duration",
        Kind::Duration(Duration::from_nanos(1), Duration::MAX),
        "",
        "for how long flows come; without it and without a count, until the run ends",
    ),
    Parameter::new("direction", Kind::Choice(&["upload", "download"]), "upload", "who sends: the client or the server"),
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

/// Returns a law with a default.
fn law(parameters: &Parameters, name: &str) -> Law {
    parameters.distribution(name).expect("a distribution with a default").law.clone()
}

fn constant(span: Duration) -> Law {
    Law::Constant(span.as_nanos() as f64)
}

fn count(parameters: &Parameters) -> Option<u64> {
    parameters.get("count").map(|_| parameters.integer("count"))
}

fn source(parameters: &Parameters) -> Source {
    Source::new(parameters.size("size"), parameters.duration("duration"))
}

fn sink(parameters: &Parameters) -> Application {
    Application::Sink(Sink::new(parameters.rate("read_rate")))
}

fn upload(parameters: &Parameters, source: Source) -> Sides {
    Sides { client: Application::Source(source), server: sink(parameters), client_sends: true }
}

fn download(parameters: &Parameters, streams: RandomStreams) -> Sides {
    if let (Some(request), Some(size)) = (parameters.size("request"), parameters.size("size")) {
        let dialogue = Dialogue {
            request: Law::Constant(request as f64),
            response: Law::Constant(size as f64),
            think: Law::Constant(0.0),
            pipeline: 1,
            count: Some(1),
            duration: parameters.duration("duration"),
        };
        let (mut client, server) = dialogue.sides(streams);
        client.sink = Sink::new(parameters.rate("read_rate"));
        return Sides {
            client: Application::Client(Box::new(client)),
            server: Application::Server(Box::new(server)),
            client_sends: false,
        };
    }
    Sides { client: sink(parameters), server: Application::Source(source(parameters)), client_sends: false }
}

/// Messages of one size at a rate.
fn steady(parameters: &Parameters, streams: RandomStreams) -> Pattern {
    let message = parameters.size("message").expect("a size with a default");
    let rate = parameters.rate("rate").expect("a rate with a default");
    Pattern::new(constant(rate.time_for(message)), Law::Constant(message as f64), streams)
}

fn cbr(parameters: &Parameters, streams: RandomStreams) -> Sides {
    upload(parameters, source(parameters).paced(steady(parameters, streams), None))
}

fn on_off(parameters: &Parameters, streams: RandomStreams) -> Sides {
    let (on, off) = (law(parameters, "on"), law(parameters, "off"));
    let pattern = steady(parameters, streams).in_bursts(on, off, streams);
    upload(parameters, source(parameters).paced(pattern, None))
}

fn packets(parameters: &Parameters, streams: RandomStreams) -> Sides {
    let pattern = Pattern::new(law(parameters, "idt"), law(parameters, "ps"), streams);
    upload(parameters, source(parameters).paced(pattern, count(parameters)))
}

fn messages(parameters: &Parameters, streams: RandomStreams) -> Sides {
    let message = parameters.size("message").expect("a size with a default");
    let interval = parameters.duration("interval").expect("an interval with a default");
    let pattern = Pattern::new(constant(interval), Law::Constant(message as f64), streams);
    let source = Source::new(None, parameters.duration("duration"));
    upload(parameters, source.paced(pattern, count(parameters)))
}

fn requests(parameters: &Parameters, streams: RandomStreams) -> Sides {
    let dialogue = Dialogue {
        request: law(parameters, "request"),
        response: law(parameters, "response"),
        think: law(parameters, "think"),
        pipeline: parameters.integer("pipeline"),
        count: count(parameters),
        duration: parameters.duration("duration"),
    };
    let (client, server) = dialogue.sides(streams);
    let (client, server) = (Application::Client(Box::new(client)), Application::Server(Box::new(server)));
    Sides { client, server, client_sends: false }
}

fn arrivals(parameters: &Parameters) -> Arrivals {
    Arrivals {
        interval: law(parameters, "interval"),
        sizes: law(parameters, "sizes"),
        count: count(parameters),
        duration: parameters.duration("duration"),
        download: parameters.text("direction") == "download",
    }
}

fn command(parameters: &Parameters, _: RandomStreams) -> Sides {
    let program = |name| Application::Program(parameters.text(name).to_owned());
    let client_sends = parameters.text("measured") == "upload";
    Sides { client: program("client"), server: program("server"), client_sends }
}

/// All applications.
pub const APPLICATIONS: &[Entry<Build>] = &[
    Entry {
        name: "upload",
        aliases: &["bulk", "iperf"],
        title: "Upload",
        source: "a long file transfer (FTP in the older literature); iperf's stream",
        help: "the client sends a number of bytes, for a time, or until the run ends",
        parameters: BULK,
        build: Build::Sides(|p, _| upload(p, source(p))),
    },
    Entry {
        name: "download",
        aliases: &[],
        title: "Download",
        source: "a long file transfer (FTP in the older literature)",
        help: "the client connects, asks if it is told to, and the server sends",
        parameters: DOWNLOAD,
        build: Build::Sides(download),
    },
    Entry {
        name: "cbr",
        aliases: &["constant-rate"],
        title: "Constant bit rate",
        source: "voice and uncompressed video in the older literature",
        help: "the client writes messages at a constant rate, whether or not the network keeps up",
        parameters: CBR,
        build: Build::Sides(cbr),
    },
    Entry {
        name: "on-off",
        aliases: &[],
        title: "On and off",
        source: "Willinger et al., Self-similarity through high-variability, SIGCOMM 1995",
        help: "the client writes messages at a constant rate during on times of random length, and nothing between them",
        parameters: ON_OFF,
        build: Build::Sides(on_off),
    },
    Entry {
        name: "packets",
        aliases: &["d-itg"],
        title: "Packet generator",
        source: "Avallone et al., D-ITG, QEST 2004: inter-departure time and packet size as random processes",
        help: "the client writes packets with random gaps and of random sizes; over udp each is a datagram",
        parameters: PACKETS,
        build: Build::Sides(packets),
    },
    Entry {
        name: "messages",
        aliases: &[],
        title: "Messages",
        source: "a message every so often",
        help: "the client writes messages of one size at a fixed interval",
        parameters: MESSAGES,
        build: Build::Sides(messages),
    },
    Entry {
        name: "requests",
        aliases: &["request-response"],
        title: "Requests and responses",
        source: "a closed loop of users that ask, wait and think, over one connection",
        help: "the client sends requests, each of which the server answers; the responses are what is measured",
        parameters: REQUESTS,
        build: Build::Sides(requests),
    },
    Entry {
        name: "arrivals",
        aliases: &["short-flows"],
        title: "Short flows that arrive",
        source: "Poisson arrivals with an empirical size distribution, as in Alizadeh et al., pFabric, SIGCOMM 2013",
        help: "flows of random sizes begin at random times, each on a connection of its own; all are planned before the run",
        parameters: ARRIVALS,
        build: Build::Arrivals(arrivals),
    },
    Entry {
        name: "page",
        aliases: &["web-page"],
        title: "Web page",
        source: "RFC 9110 to 9114; ObjectIndex of Bocchi, De Cicco, Rossi, Internet-QoE 2016",
        help: "a client loads a page of many objects over HTTP; message latencies are from the start to each object's \
               last byte, their mean the ObjectIndex",
        parameters: page::PARAMETERS,
        build: Build::Visit(Visit::page),
    },
    Entry {
        name: "video",
        aliases: &["adaptive-video"],
        title: "Adaptive video",
        source: "Huang et al., SIGCOMM 2014; ISO/IEC 23009-1 (DASH)",
        help: "a client fetches a video segment by segment over HTTP, each at a rate that it chooses, and plays it",
        parameters: video::PARAMETERS,
        build: Build::Visit(Visit::video),
    },
    Entry {
        name: "command",
        aliases: &[],
        title: "Programs of the host",
        source: "iperf3, curl, ping: whatever is installed, unmodified",
        help: "both sides run a command in their guest, with the host's files read-only; needs stack = \"linux\"",
        parameters: COMMAND,
        build: Build::Sides(command),
    },
];
