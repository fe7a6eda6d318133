//! Every application, by name.

use crate::web::{page, video};
use crate::{
    Application, Arrivals, Client, Dialogue, Pattern, RandomStreams, ScriptFactory, Server, Sink, Source, Visit,
    VisitEnd,
};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters, choice, parameters};
use vazao_engine::{Dimension, Duration, Law, Rate, Time};

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

    /// Has a script write the messages of the client.
    pub fn scripted(mut self, make: ScriptFactory, streams: RandomStreams) -> Sides {
        if let Application::Source(source) = &mut self.client {
            source.scripted(Pattern::scripted(Some(make), streams));
        }
        self
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
    Parameter::shared(Kind::Size(1, u64::MAX), "", "bytes to transfer; without it, until the run ends");
const DURATION: Parameter = Parameter::shared(
    Kind::Duration(Duration::from_nanos(1), Duration::MAX),
    "",
    "how long to send, from the moment the connection stands; with a size too, whichever ends first",
);
const READ_RATE: Parameter =
    Parameter::shared(Kind::Rate, "", "how fast the receiving application reads; without it, at once");
const MESSAGE: Parameter =
    Parameter::shared(Kind::Size(1, u64::MAX), "", "bytes of a message over sctp; without it, what fits a packet");

choice! { enum Direction { Upload = "upload", Download = "download" } }

parameters! {
    struct Upload {
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
        // The transport reads it.
        message: Option<u64> = MESSAGE;
    }

    struct Download {
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
        // The transport reads it.
        message: Option<u64> = MESSAGE;
        request: Option<u64> = Kind::Size(1, u64::MAX), "",
            "bytes with which the client asks for it; without, the server sends as soon as the connection stands";
    }

    struct Cbr {
        rate: Rate = Kind::Rate, "1 Mbps", "rate of the messages' bytes";
        message: u64 = Kind::Size(1, u64::MAX), "1000 B", "bytes of a message";
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
    }

    struct Messages {
        message: u64 = Kind::Size(1, u64::MAX), "1000 B", "bytes of a message";
        interval: Duration = Kind::Duration(Duration::from_micros(1), Duration::MAX), "100 ms",
            "from the start of one message to the start of the next";
        count: Option<u64> = Kind::Integer(1, 1_000_000_000), "", "how many messages; without it, until the run ends";
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
    }

    struct Ping {
        interval: Duration = Kind::Duration(Duration::from_micros(1), Duration::MAX), "1 s",
            "from one request to the next";
        size: u64 = Kind::Size(1, 1472), "56 B", "bytes of data in a request and in its reply; 28 B of headers come on top";
        count: Option<u64> = Kind::Integer(1, 1_000_000_000), "", "how many requests; without it, until the run ends";
        duration: Option<Duration> = DURATION;
    }

    struct OnOff {
        rate: Rate = Kind::Rate, "1 Mbps", "rate of the messages' bytes while on";
        message: u64 = Kind::Size(1, u64::MAX), "1000 B", "bytes of a message";
        on: Law = Kind::Distribution(Dimension::Time), "exponential 1 s", "how long it is on";
        off: Law = Kind::Distribution(Dimension::Time), "exponential 1 s", "how long it is off after that";
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
    }

    struct Packets {
        idt: Law = Kind::Distribution(Dimension::Time), "1 ms",
            "inter-departure time: from the start of one packet to the start of the next";
        ps: Law = Kind::Distribution(Dimension::Size), "512 B", "packet size: bytes of payload";
        count: Option<u64> = Kind::Integer(1, 1_000_000_000), "", "how many packets; without it, until the run ends";
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
    }

    struct Scripted {
        size: Option<u64> = SIZE;
        duration: Option<Duration> = DURATION;
        read_rate: Option<Rate> = READ_RATE;
    }

    struct ShortFlows {
        interval: Law = Kind::Distribution(Dimension::Time), "exponential 100 ms",
            "from one flow's start to the next one's; exponential: a Poisson process";
        sizes: Law = Kind::Distribution(Dimension::Size), "web-search",
            "bytes of a flow: a distribution, or its points as [[\"1 kB\", 0.5], [\"1 MB\", 1]]";
        count: Option<u64> = Kind::Integer(1, Arrivals::MOST as i64), "", "how many flows at most";
        duration: Option<Duration> = Kind::Duration(Duration::from_nanos(1), Duration::MAX), "",
            "for how long flows come; without it and without a count, until the run ends";
        direction: Direction = Direction::KIND, "upload", "who sends: the client or the server";
    }

    struct Command {
        server: String = Kind::Text, "what the server runs, by a shell; {server}, {client} are addresses";
        client: String = Kind::Text, "what the client runs, likewise, once the flow starts";
        measured: Direction = Direction::KIND, "upload",
            "which way the data goes that is measured: from the client or to it";
    }
}

fn sink(read_rate: Option<Rate>) -> Application {
    Application::Sink(Sink::new(read_rate))
}

fn sends(source: Source, read_rate: Option<Rate>) -> Sides {
    Sides { client: Application::Source(source), server: sink(read_rate), client_sends: true }
}

fn talk(client: Client, server: Server) -> Sides {
    let (client, server) = (Application::Client(Box::new(client)), Application::Server(Box::new(server)));
    Sides { client, server, client_sends: false }
}

fn upload(p: &Parameters, _: RandomStreams) -> Sides {
    let Upload { size, duration, read_rate, .. } = p.into();
    sends(Source::new(size, duration), read_rate)
}

fn download(p: &Parameters, streams: RandomStreams) -> Sides {
    let Download { size, duration, read_rate, request, .. } = p.into();
    let (Some(request), Some(response)) = (request, size) else {
        let server = Application::Source(Source::new(size, duration));
        return Sides { client: sink(read_rate), server, client_sends: false };
    };
    let [request, response] = [request, response].map(|bytes| Law::Constant(bytes as f64));
    let once = Dialogue { request, response, think: Law::Constant(0.0), pipeline: 1, count: Some(1), duration };
    let (mut client, server) = once.sides(streams);
    client.sink = Sink::new(read_rate);
    talk(client, server)
}

/// Gap and size of messages that are all alike.
fn steady(message: u64, interval: Duration) -> [Law; 2] {
    [Law::Constant(interval.as_nanos() as f64), Law::Constant(message as f64)]
}

fn cbr(p: &Parameters, streams: RandomStreams) -> Sides {
    let Cbr { rate, message, size, duration, read_rate } = p.into();
    let [idt, ps] = steady(message, rate.time_for(message));
    let pattern = Pattern::new(idt, ps, streams);
    sends(Source::new(size, duration).paced(pattern, None), read_rate)
}

fn on_off(p: &Parameters, streams: RandomStreams) -> Sides {
    let OnOff { rate, message, on, off, size, duration, read_rate } = p.into();
    let [idt, ps] = steady(message, rate.time_for(message));
    let pattern = Pattern::in_bursts(idt, ps, [on, off], streams);
    sends(Source::new(size, duration).paced(pattern, None), read_rate)
}

fn packets(p: &Parameters, streams: RandomStreams) -> Sides {
    let Packets { idt, ps, count, size, duration, read_rate } = p.into();
    sends(Source::new(size, duration).paced(Pattern::new(idt, ps, streams), count), read_rate)
}

fn scripted(p: &Parameters, streams: RandomStreams) -> Sides {
    let Scripted { size, duration, read_rate } = p.into();
    sends(Source::new(size, duration).paced(Pattern::scripted(None, streams), None), read_rate)
}

fn messages(p: &Parameters, streams: RandomStreams) -> Sides {
    let Messages { message, interval, count, duration, read_rate } = p.into();
    let [idt, ps] = steady(message, interval);
    sends(Source::new(None, duration).paced(Pattern::new(idt, ps, streams), count), read_rate)
}

fn ping(p: &Parameters, streams: RandomStreams) -> Sides {
    let Ping { interval, size, count, duration } = p.into();
    let [idt, ps] = steady(size, interval);
    sends(Source::new(None, duration).paced(Pattern::new(idt, ps, streams), count), None)
}

fn requests(p: &Parameters, streams: RandomStreams) -> Sides {
    let (client, server) = Dialogue::from(p).sides(streams);
    talk(client, server)
}

fn arrivals(p: &Parameters) -> Arrivals {
    let ShortFlows { interval, sizes, count, duration, direction } = p.into();
    Arrivals { interval, sizes, count, duration, download: direction == Direction::Download }
}

fn command(p: &Parameters, _: RandomStreams) -> Sides {
    let Command { server, client, measured } = p.into();
    let (client, server) = (Application::Program(client), Application::Program(server));
    Sides { client, server, client_sends: measured == Direction::Upload }
}

/// Applications of a user's own: the client writes messages as a [script](Sides::scripted) says. No scenario names this entry.
pub const SCRIPTED: Entry<Build> = Entry {
    name: "own",
    aliases: &[],
    title: "Own application",
    source: "the user",
    help: "the client writes messages as the user's own code says",
    parameters: Scripted::PARAMETERS,
    build: Build::Sides(scripted),
};

/// Name of the application whose messages are to be answered with their own content.
pub const PING: &str = "ping";

/// Name of the application that runs programs of the host.
pub const COMMAND: &str = "command";

/// All applications.
pub const APPLICATIONS: &[Entry<Build>] = &[
    Entry {
        name: "upload",
        aliases: &["bulk", "iperf"],
        title: "Upload",
        source: "a long file transfer (FTP in the older literature); iperf's stream",
        help: "the client sends a number of bytes, for a time, or until the run ends",
        parameters: Upload::PARAMETERS,
        build: Build::Sides(upload),
    },
    Entry {
        name: "download",
        aliases: &[],
        title: "Download",
        source: "a long file transfer (FTP in the older literature)",
        help: "the client connects, asks if it is told to, and the server sends",
        parameters: Download::PARAMETERS,
        build: Build::Sides(download),
    },
    Entry {
        name: "cbr",
        aliases: &["constant-rate"],
        title: "Constant bit rate",
        source: "voice and uncompressed video in the older literature",
        help: "the client writes messages at a constant rate, whether or not the network keeps up",
        parameters: Cbr::PARAMETERS,
        build: Build::Sides(cbr),
    },
    Entry {
        name: "on-off",
        aliases: &[],
        title: "On and off",
        source: "Willinger et al., Self-similarity through high-variability, SIGCOMM 1995",
        help: "the client writes messages at a constant rate during on times of random length, and nothing between them",
        parameters: OnOff::PARAMETERS,
        build: Build::Sides(on_off),
    },
    Entry {
        name: "packets",
        aliases: &["d-itg"],
        title: "Packet generator",
        source: "Avallone et al., D-ITG, QEST 2004: inter-departure time and packet size as random processes",
        help: "the client writes packets with random gaps and of random sizes; over udp each is a datagram",
        parameters: Packets::PARAMETERS,
        build: Build::Sides(packets),
    },
    Entry {
        name: "messages",
        aliases: &[],
        title: "Messages",
        source: "a message every so often",
        help: "the client writes messages of one size at a fixed interval",
        parameters: Messages::PARAMETERS,
        build: Build::Sides(messages),
    },
    Entry {
        name: PING,
        aliases: &[],
        title: "Ping",
        source: "RFC 792, echo; iputils' ping",
        help: "the client asks for an echo every so often; round-trip times and lost requests are in the flow's row, and \
               each round-trip time in trace = [\"rtt\"]. Goes over icmp, which need not be written",
        parameters: Ping::PARAMETERS,
        build: Build::Sides(ping),
    },
    Entry {
        name: "requests",
        aliases: &["request-response"],
        title: "Requests and responses",
        source: "a closed loop of users that ask, wait and think, over one connection",
        help: "the client sends requests, each of which the server answers; the responses are what is measured",
        parameters: Dialogue::PARAMETERS,
        build: Build::Sides(requests),
    },
    Entry {
        name: "arrivals",
        aliases: &["short-flows"],
        title: "Short flows that arrive",
        source: "Poisson arrivals with an empirical size distribution, as in Alizadeh et al., pFabric, SIGCOMM 2013",
        help: "flows of random sizes begin at random times, each on a connection of its own; all are planned before the run",
        parameters: ShortFlows::PARAMETERS,
        build: Build::Arrivals(arrivals),
    },
    Entry {
        name: "page",
        aliases: &["web-page"],
        title: "Web page",
        source: "RFC 9110 to 9114; ObjectIndex of Bocchi, De Cicco, Rossi, Internet-QoE 2016",
        help: "a client loads a page of many objects over HTTP; message latencies are from the start to each object's \
               last byte, their mean the ObjectIndex",
        parameters: page::Settings::PARAMETERS,
        build: Build::Visit(Visit::page),
    },
    Entry {
        name: "video",
        aliases: &["adaptive-video"],
        title: "Adaptive video",
        source: "Huang et al., SIGCOMM 2014; ISO/IEC 23009-1 (DASH)",
        help: "a client fetches a video segment by segment over HTTP, each at a rate that it chooses, and plays it",
        parameters: video::Settings::PARAMETERS,
        build: Build::Visit(Visit::video),
    },
    Entry {
        name: COMMAND,
        aliases: &[],
        title: "Programs of the host",
        source: "iperf3, curl, ping: whatever is installed, unmodified",
        help: "both sides run a command in their guest, with the host's files read-only; needs stack = \"linux\"",
        parameters: Command::PARAMETERS,
        build: Build::Sides(command),
    },
];
