//! Logs of connections in qlog: two files for each flow whose endpoints keep a log.

use crate::endpoint::codec::Logger;
use crate::endpoint::{Crossing, EndId};
use crate::model::scenario::Scenario;
use crate::record::{File, Output};
use std::collections::BTreeMap;
use vazao_engine::Time;
use vazao_wire::qlog::{self, Trace, VantagePoint};

/// Logs of a run.
pub(crate) struct Log {
    flows: BTreeMap<usize, FlowLog>,
    /// Whether each side's log tells its own events alone.
    follows_ends: bool,
    /// Reason for which bytes could not be written.
    failure: Option<String>,
}

/// Log of a flow, with a file for each side.
struct FlowLog {
    logger: Box<dyn Logger>,
    files: [File; 2],
}

/// Creates the file of one side.
fn file(scenario: &Scenario, number: usize, side: usize, group: Option<&str>) -> File {
    let flow = &scenario.flows[number];
    let vantage_point = [VantagePoint::Client, VantagePoint::Server][side];
    let host = [&flow.client, &flow.server][side];
    let title = format!("{}: flow {number}", scenario.name);
    let mut bytes = Vec::new();
    qlog::header(&Trace { title: &title, name: host, vantage_point, group }, &mut bytes);
    File { name: format!("flow-{number}.{}", vantage_point.name()), bytes }
}

impl Log {
    pub fn new(scenario: &Scenario) -> Log {
        let log = |number: usize| {
            let logger = (scenario.flows[number].transport.pack().logger)(scenario, number)?;
            let group = logger.group();
            let files = [0, 1].map(|side| file(scenario, number, side, group.as_deref()));
            Some((number, FlowLog { logger, files }))
        };
        Log {
            flows: (0..scenario.flows.len()).filter_map(log).collect(),
            follows_ends: !scenario.flows.iter().any(|flow| flow.transport.has_library()),
            failure: None,
        }
    }

    /// Returns whether files are the same if ends are shown one after the other.
    pub fn follows_ends(&self) -> bool {
        self.follows_ends
    }

    /// Returns whether no flow keeps a log.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Handles a packet of a flow at an interface.
    pub fn cross(&mut self, flow: usize, crossing: &Crossing<'_>) {
        if let Some(log) = self.flows.get_mut(&flow) {
            log.logger.cross(crossing);
        }
    }

    /// Handles lines of a flow's key log.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        if let Some(log) = self.flows.get_mut(&flow) {
            log.logger.secrets(lines);
        }
    }

    /// Handles qlog records of an endpoint.
    pub fn records(&mut self, now: Time, (flow, side): EndId, records: &[u8], output: Output<'_>) {
        let Some(FlowLog { logger, files }) = self.flows.get_mut(&flow) else { return };
        let file = &mut files[side];
        logger.records(now, side, records, &mut file.bytes);
        if file.is_full() {
            self.failure = file.flush(true, output).err().or(self.failure.take());
        }
    }

    /// Hands buffered bytes to the output: all of them, also once all files together have very many, or those of files with
    /// many.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        /// Bytes that the logs of many flows may take.
        const MOST: usize = 32 << 20;
        self.failure.take().map_or(Ok(()), Err)?;
        let held: usize = self.flows.values().flat_map(|log| &log.files).map(|file| file.bytes.len()).sum();
        let all = all || held >= MOST;
        let mut files = self.flows.values_mut().flat_map(|log| &mut log.files);
        files.try_for_each(|file| file.flush(all, &mut *output).map(drop))
    }
}
