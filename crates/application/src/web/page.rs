//! Page: a document that names further objects, or all of them known at once.

use super::http::{HEADERS, Http, Version};
use crate::RandomStreams;
use vazao_engine::Dimension;
use vazao_engine::registry::{Kind, Parameter, Parameters};

/// State of a page's loading.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Bytes of each object in the order in which it is asked for, the document first if there is one.
    sizes: Vec<u64>,
    has_root: bool,
    asked: usize,
    complete: usize,
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("objects", Kind::Integer(1, 100_000), "100", "how many objects, the document not counted"),
    Parameter::new("size", Kind::Distribution(Dimension::Size), "20 kB", "bytes of each object"),
    Parameter::new(
        "root",
        Kind::Size(1, u64::MAX),
        "",
        "bytes of the document that names them, and comes before them; without it they are known at once",
    ),
    Parameter::new(
        "http",
        Kind::Choice(&Version::NAMES),
        "",
        "version of HTTP: 3 over quic, else 1.1 or 2 (default: 2)",
    ),
    Parameter::new(
        "connections",
        Kind::Integer(1, 64),
        "6",
        "of HTTP/1.1: connections that the client opens at most (browsers' 6 for each server)",
    ),
    Parameter::new(
        "pipeline",
        Kind::Integer(1, 10_000),
        "1",
        "of HTTP/1.1: requests that may wait on a connection; more than 1 is pipelining (RFC 9112, section 9.3.2)",
    ),
    Parameter::new(
        "priority",
        Kind::Choice(&["fair", "order"]),
        "fair",
        "of HTTP/2 and 3: the server serves all responses in turn, or each to its end in the order of the requests",
    ),
    Parameter::new(
        "turn",
        Kind::Size(1, u64::MAX),
        "16384 B",
        "of HTTP/2 and 3 with fair priority: bytes of a response before the next has its turn; over HTTP/2 a frame at most, \
         over HTTP/3 a packet at least",
    ),
    HEADERS[0],
    HEADERS[1],
];

/// Returns the HTTP of a page with these parameters.
pub(crate) fn http(parameters: &Parameters) -> Http {
    let version = parameters.get("http").map_or(Version::Http2, |_| Version::named(parameters.text("http")));
    let serial = Http::serial(parameters);
    let turn = if parameters.text("priority") == "fair" { parameters.size("turn") } else { None };
    match version {
        Version::Http1 => Http {
            connections: parameters.integer("connections") as usize,
            pipeline: parameters.integer("pipeline") as usize,
            ..serial
        },
        Version::Http2 | Version::Http3 => Http { version, turn, ..serial },
    }
}

impl Page {
    pub fn new(parameters: &Parameters, streams: RandomStreams) -> Page {
        let law = &parameters.distribution("size").expect("a distribution with a default").law;
        let mut stream = streams.of("object");
        let root = parameters.size("root");
        let objects = (0..parameters.integer("objects")).map(|_| law.bytes(&mut stream));
        Page { sizes: root.into_iter().chain(objects).collect(), has_root: root.is_some(), asked: 0, complete: 0 }
    }

    /// Returns the number of objects that could be requested now.
    pub fn wishes(&self) -> usize {
        let known = if self.has_root && self.complete == 0 { 1 } else { self.sizes.len() };
        known - self.asked
    }

    /// Returns the size of the next object in bytes.
    pub fn wish(&mut self) -> Option<u64> {
        (self.wishes() > 0).then(|| {
            self.asked += 1;
            self.sizes[self.asked - 1]
        })
    }

    pub fn on_response(&mut self) {
        self.complete += 1;
    }

    pub fn is_done(&self) -> bool {
        self.complete == self.sizes.len()
    }

    /// Bytes of all objects.
    pub fn volume(&self) -> u64 {
        self.sizes.iter().sum()
    }
}
