//! Samples of time series: records while a run goes on, rows of its results afterwards.

use crate::measures::series::{self, MEASURES, Source};
use crate::measures::table::{Column, Table};
use crate::model::routes::direction_name;
use crate::model::scenario::Scenario;
use vazao_engine::Time;
use vazao_transport::sctp::Notification;

/// Value of a measure at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time.
    pub time: Time,
    /// Index into [`MEASURES`](crate::MEASURES).
    pub measure: u32,
    /// Number of the flow, or of the link's direction.
    pub source: u32,
    /// Path of the flow, for measures of paths; else 0.
    pub path: u8,
    /// Value in the measure's unit.
    pub value: f64,
    /// Side that was notified of an event, 0 for the client, and the event's code; `None` for other measures.
    pub event: Option<(u8, u8)>,
}

/// Side of a sample that is no event.
const NO_SIDE: u8 = u8::MAX;

impl Sample {
    /// Length of a record.
    pub const BYTES: usize = 24;

    /// Converts the sample to a record in little-endian order.
    pub fn to_record(self) -> [u8; Sample::BYTES] {
        let (side, code) = self.event.unwrap_or((NO_SIDE, 0));
        let mut record = [0; Sample::BYTES];
        record[..8].copy_from_slice(&self.time.as_nanos().to_le_bytes());
        record[8..16].copy_from_slice(&self.value.to_bits().to_le_bytes());
        record[16..20].copy_from_slice(&self.source.to_le_bytes());
        record[20..].copy_from_slice(&[self.measure as u8, self.path, side, code]);
        record
    }

    fn from_record(record: &[u8; Sample::BYTES]) -> Sample {
        let eight = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| record[from + i]));
        let [measure, path, side, code] = std::array::from_fn(|i| record[20 + i]);
        Sample {
            time: Time::from_nanos(eight(0)),
            value: f64::from_bits(eight(8)),
            source: u32::from_le_bytes(std::array::from_fn(|i| record[16 + i])),
            measure: u32::from(measure),
            path,
            event: (side != NO_SIDE).then_some((side, code)),
        }
    }
}

/// Meaning of the numbers in a run's samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Legend {
    run_id: String,
    links: Vec<String>,
    /// Row of each flow of the world in the results, and its first path there.
    places: Vec<(usize, usize)>,
}

impl Legend {
    pub(crate) fn new(run_id: &str, scenario: &Scenario, places: Vec<(usize, usize)>) -> Legend {
        let links = scenario.graph.links.iter().map(|link| link.name.clone()).collect();
        Legend { run_id: run_id.to_owned(), links, places }
    }

    /// Converts consecutive records to rows.
    pub fn rows_of_records(&self, records: &[u8]) -> Table {
        let samples: Vec<Sample> = records.as_chunks().0.iter().map(Sample::from_record).collect();
        self.rows(&samples)
    }

    pub(crate) fn rows(&self, samples: &[Sample]) -> Table {
        let is_link = |s: &Sample| matches!(MEASURES[s.measure as usize].source, Source::Queue);
        let place = |s: &Sample| self.places[s.source as usize];
        let of_link = |s: &Sample, code: u32| is_link(s).then_some(code);
        let integer = |f: &dyn Fn(&Sample) -> Option<i64>| Column::Integer(samples.iter().map(f).collect());
        let label = |f: &dyn Fn(&Sample) -> Option<u32>, names: Vec<String>| Column::Label {
            codes: samples.iter().map(f).collect(),
            names,
        };
        vec![
            ("run_id", label(&|_| Some(0), vec![self.run_id.clone()])),
            ("time_s", Column::Number(samples.iter().map(|s| Some(s.time.as_secs())).collect())),
            ("flow", integer(&|s| (!is_link(s)).then(|| place(s).0 as i64))),
            ("path", integer(&|s| (!is_link(s)).then(|| place(s).1 as i64 + i64::from(s.path)))),
            ("link", label(&|s| of_link(s, s.source / 2), self.links.clone())),
            (
                "direction",
                label(&|s| of_link(s, s.source % 2), vec![direction_name(true).into(), direction_name(false).into()]),
            ),
            ("measure", label(&|s| Some(s.measure), series::names().map(str::to_owned).collect())),
            ("value", Column::Number(samples.iter().map(|s| Some(s.value)).collect())),
            ("side", label(&|s| s.event.map(|(side, _)| u32::from(side)), vec!["client".into(), "server".into()])),
            ("event", label(&|s| s.event.map(|(_, code)| u32::from(code)), names(Notification::NAMES))),
        ]
    }
}

fn names(known: &[&str]) -> Vec<String> {
    known.iter().map(|&name| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_gives_its_sample_back(
            time: u64, measure: u8, source: u32, path: u8, bits in any::<f64>().prop_filter("a number", |x| !x.is_nan()),
            event in prop::option::of((0_u8..2, any::<u8>())),
        ) {
            let time = Time::from_nanos(time);
            let sample = Sample { time, measure: u32::from(measure), source, path, value: bits, event };
            prop_assert_eq!(Sample::from_record(&sample.to_record()), sample);
        }
    }
}
