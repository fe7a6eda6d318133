//! Page: a document that names further objects, or all of them known at once.

use super::http::{HEADER, Http, REQUEST, Version};
use crate::RandomStreams;
use vazao_engine::registry::{Kind, Parameters, choice, parameters};
use vazao_engine::{Dimension, Law};

/// State of a page's loading.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Bytes of each object in the order in which it is asked for, the document first if there is one.
    sizes: Vec<u64>,
    has_root: bool,
    asked: usize,
    complete: usize,
}

choice! { enum Priority { Fair = "fair", Order = "order" } }

parameters! {
    pub(crate) struct Settings {
        objects: u64 = Kind::Integer(1, 100_000), "100", "how many objects, the document not counted";
        size: Law = Kind::Distribution(Dimension::Size), "20 kB", "bytes of each object";
        root: Option<u64> = Kind::Size(1, u64::MAX), "",
            "bytes of the document that names them, and comes before them; without it they are known at once";
        http: Option<Version> = Version::KIND, "", "version of HTTP: 3 over quic, else 1.1 or 2 (default: 2)";
        connections: usize = Kind::Integer(1, 64), "6",
            "of HTTP/1.1: connections that the client opens at most (browsers' 6 for each server)";
        pipeline: usize = Kind::Integer(1, 10_000), "1",
            "of HTTP/1.1: requests that may wait on a connection; more than 1 is pipelining (RFC 9112, section 9.3.2)";
        priority: Priority = Priority::KIND, "fair",
            "of HTTP/2 and 3: the server serves all responses in turn, or each to its end in the order of the requests";
        turn: u64 = Kind::Size(1, u64::MAX), "16384 B",
            "of HTTP/2 and 3 with fair priority: bytes of a response before the next has its turn; over HTTP/2 a frame at most, \
             over HTTP/3 a packet at least";
        request: u64 = REQUEST;
        header: u64 = HEADER;
    }
}

/// Returns the HTTP of a page with these parameters.
pub(crate) fn http(p: &Parameters) -> Http {
    let Settings { http, connections, pipeline, priority, turn, request, header, .. } = p.into();
    let serial = Http::serial(request, header);
    match http.unwrap_or(Version::Http2) {
        Version::Http1 => Http { connections, pipeline, ..serial },
        version => Http { version, turn: (priority == Priority::Fair).then_some(turn), ..serial },
    }
}

impl Page {
    pub fn new(p: &Parameters, streams: RandomStreams) -> Page {
        let Settings { objects, size, root, .. } = p.into();
        let mut stream = streams.of("object");
        let objects = (0..objects).map(|_| size.bytes(&mut stream));
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
