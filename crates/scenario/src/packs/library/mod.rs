//! Connections that a third party's library plays.

pub(crate) mod log;

use super::IP_HEADER;
use crate::endpoint::codec::{Codec, Logger, encode_datagram};
use crate::endpoint::{Arrival, Body, Content, Contents, Crossing, Departure, Endpoint, Turn};
use crate::measures::counts::{Counts, Tally};
use crate::measures::series::{PathState, SenderState, Sent};
use crate::model::scenario::Scenario;
use crate::packs::ends::Ends;
use log::Reader;
use std::borrow::Cow;
use std::collections::BTreeMap;
use vazao_application::Application;
use vazao_engine::{RandomStream, Time};
use vazao_transport::library::{Datagram, Library, Plan, Report};
use vazao_transport::udp::HEADER as UDP_HEADER;

/// Function that makes both ends of a connection, the client's first, or says why it cannot.
pub type Connect<'a> = &'a dyn Fn(&Plan) -> Result<[Box<dyn Library>; 2], String>;

/// Ends of a run's connections, by flow, until they are put into its world.
#[derive(Default)]
pub(crate) struct Libraries(BTreeMap<usize, [Box<dyn Library>; 2]>);

impl Libraries {
    /// Makes the ends for a scenario, with logs if `logs`.
    ///
    /// # Errors
    /// The library is missing or refuses a connection.
    pub fn new(scenario: &Scenario, connect: Option<Connect<'_>>, logs: bool) -> Result<Libraries, String> {
        let mut all = BTreeMap::new();
        for (number, flow) in scenario.flows.iter().enumerate() {
            let spec = &flow.transport;
            if !spec.has_library() {
                continue;
            }
            let Some(connect) = connect else {
                return Err(format!("flow {number}: this build of Vazão has no stack {:?}", spec.sender.name));
            };
            let own = spec.sender.own_control(&spec.control.name);
            let ends = connect(&Plan {
                parameters: spec.parameters.clone(),
                control: own.unwrap_or(&spec.control.name).to_owned(),
                make: own.is_none().then(|| spec.control_factory()),
                seed: RandomStream::new(scenario.seed, &format!("library/flow {number}")).bits(),
                logs,
            });
            all.insert(number, ends.map_err(|problem| format!("flow {number}: {problem}"))?);
        }
        Ok(Libraries(all))
    }

    /// Takes both ends of a flow.
    pub fn take(&mut self, flow: usize) -> [Box<dyn Endpoint>; 2] {
        let ends = self.0.remove(&flow).expect("every flow's ends are made once and taken once");
        ends.map(|end| -> Box<dyn Endpoint> { Box::new(end) })
    }
}

impl Content for Datagram {
    fn clear(&mut self) {
        self.payload.clear();
    }
}

impl Endpoint for Box<dyn Library> {
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Kept { content, .. } = *arrival.body else { return false };
        let before = self.report().stream_frames;
        (**self).handle(now, arrival.ecn, arrival.contents.get(content));
        self.report().stream_frames > before
    }
    fn next_timeout(&self) -> Time {
        (**self).next_timeout()
    }
    /// Handles timers at every call; the first one starts a client.
    fn handle_timeout(&mut self, now: Time) -> bool {
        (**self).handle_timeout(now);
        true
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        self.set_clock(now);
        application.drive(now, self);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        self.set_clock(turn.now);
        turn.on_streams(self)
    }
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let (content, datagram) = contents.fresh::<Datagram>();
        if !(**self).poll_transmit(now, datagram) {
            datagram.clear();
            contents.give_back::<Datagram>(content);
            return None;
        }
        let body = Body::Kept { content, path: 0 };
        let size = IP_HEADER + UDP_HEADER + datagram.payload.len() as u32;
        Some(Departure { body, size, way: usize::from(datagram.address.interface), ecn: datagram.ecn })
    }
    fn is_over(&self) -> bool {
        (**self).is_over()
    }
    fn failure(&self) -> Option<String> {
        (**self).failure().map(str::to_owned)
    }
    fn ready(&self) -> Option<Time> {
        self.report().ready
    }
    fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState)) {
        see(&self.report());
    }
    /// Returns the counts: retransmissions are packets declared lost, whose content is sent again. A library does not
    /// report timeouts.
    fn counts(&self, _end: Time) -> Counts<'_> {
        let report = self.report();
        Counts {
            tally: Tally::of(report.counts()),
            rtt: Cow::Owned(self.rtt()),
            srtt: report.srtt,
            is_over: (**self).is_over(),
        }
    }
    fn misplaced(&self) -> u64 {
        self.report().misplaced
    }
    fn take_log(&mut self, take: &mut dyn FnMut(&[u8])) {
        take(&(**self).take_log());
    }
    fn take_secrets(&mut self) -> String {
        (**self).take_secrets()
    }
}

impl SenderState for Report {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }
    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|threshold| self.cwnd < threshold)
    }
    fn is_repairing(&self) -> bool {
        self.is_repairing
    }
    fn cuts(&self) -> u64 {
        self.cuts
    }
    /// Data written to the library, which does not report how much of it was sent.
    fn sent(&self) -> Sent {
        Sent { segments: self.datagrams, bytes: self.written, flight: self.flight }
    }
    fn path(&self, _number: usize) -> PathState {
        let Report { cwnd, ssthresh, srtt, latest_rtt, flight, .. } = *self;
        PathState { cwnd, ssthresh, srtt, latest_rtt, flight, ..PathState::default() }
    }
}

/// Codec of a library's datagrams, which are bytes.
pub(crate) struct Bytes(pub Ends);

/// Returns the datagram of a crossing.
fn datagram<'a>(crossing: &Crossing<'a>) -> Option<&'a Datagram> {
    if let Body::Kept { content, .. } = *crossing.body { Some(crossing.contents.get(content)) } else { None }
}

impl Codec for Bytes {
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2] {
        self.0.interfaces(datagram(crossing).map_or(0, |datagram| datagram.address.interface))
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let Some(datagram) = datagram(crossing) else { return };
        let places = self.0.places(crossing, datagram.address);
        encode_datagram(places, crossing.ecn, out, |out| out.extend_from_slice(&datagram.payload));
    }
}

/// Log of a library, completed from its packets: a reader for each side.
pub(crate) struct Records([Reader; 2]);

impl Records {
    pub fn new() -> Records {
        Records([0, 1].map(Reader::new))
    }
}

impl Logger for Records {
    fn cross(&mut self, crossing: &Crossing<'_>) {
        if let Some(datagram) = datagram(crossing) {
            self.0[crossing.at].datagram(crossing.direction, &datagram.payload);
        }
    }
    fn secrets(&mut self, lines: &str) {
        self.0.iter_mut().for_each(|reader| reader.secrets(lines));
    }
    fn records(&mut self, now: Time, side: usize, records: &[u8], out: &mut Vec<u8>) {
        self.0[side].records(now, records, out);
    }
}
