//! Logs of connections in qlog's format: two files for each flow whose endpoints log what they do.

use crate::endpoint::codec::Logger;
use crate::endpoint::{Crossing, EndId};
use crate::model::scenario::Scenario;
use crate::record::capture::Output;
use vazao_engine::Time;
use vazao_wire::qlog::{self, Trace, VantagePoint};

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

/// The logs of a run, by flow.
pub(crate) struct Log(Vec<Option<FlowLog>>);

/// The log of a flow: who makes its records, and the two sides' files.
struct FlowLog {
    logger: Box<dyn Logger>,
    files: [File; 2],
}

/// What one side has to tell.
struct File {
    name: String,
    /// What was recorded and not yet written.
    bytes: Vec<u8>,
}

impl File {
    fn new(scenario: &Scenario, number: usize, side: usize, group: Option<&str>) -> File {
        let flow = &scenario.flows[number];
        let vantage_point = [VantagePoint::Client, VantagePoint::Server][side];
        let host = [&flow.client, &flow.server][side];
        let title = format!("{}: flow {number}", scenario.name);
        let mut bytes = Vec::new();
        qlog::header(&Trace { title: &title, name: host, vantage_point, group }, &mut bytes);
        File { name: format!("flow-{number}.{}", vantage_point.name()), bytes }
    }
}

impl Log {
    pub fn new(scenario: &Scenario) -> Log {
        let log = |number: usize| {
            let logger = scenario.flows[number].transport.pack().logger(scenario, number)?;
            let group = logger.group();
            let files = [0, 1].map(|side| File::new(scenario, number, side, group.as_deref()));
            Some(FlowLog { logger, files })
        };
        Log((0..scenario.flows.len()).map(log).collect())
    }

    /// Whether no flow's endpoints log what they do.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// A packet of a flow has crossed an interface.
    pub fn cross(&mut self, flow: usize, crossing: &Crossing<'_>) {
        if let Some(log) = &mut self.0[flow] {
            log.logger.cross(crossing);
        }
    }

    /// Secrets have come up by which a flow's packets can be read.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        if let Some(log) = &mut self.0[flow] {
            log.logger.secrets(lines);
        }
    }

    /// An endpoint has logged what it does.
    pub fn records(&mut self, now: Time, (flow, side): EndId, records: &[u8]) {
        if let Some(log) = &mut self.0[flow] {
            log.logger.records(now, side, records, &mut log.files[side].bytes);
        }
    }

    /// Hands what is buffered to the output: all of it, or what has grown large.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for file in self.0.iter_mut().flatten().flat_map(|log| &mut log.files) {
            if !file.bytes.is_empty() && (all || file.bytes.len() >= BUFFER) {
                output(&file.name, &file.bytes)?;
                file.bytes.clear();
            }
        }
        Ok(())
    }
}
