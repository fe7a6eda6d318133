//! Streams of a run at their receivers, and the responses of its visits: what was read when, and what waited for earlier data.

use super::recording::Sections;
use crate::endpoint::{EndId, Endpoint, Inflow};
use std::collections::BTreeMap;
use vazao_application::Visit;
use vazao_engine::Time;

/// Number of no object, and of no time.
const NONE: f64 = f64::NAN;

/// Kinds of streams, as `stream.kind` has them.
const BYTES: u8 = 0;
const MESSAGES: u8 = 1;
const RESPONSE: u8 = 2;

/// Progress of a stream at a time: what was read, and the bytes that wait for earlier data.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    time: Time,
    read: u64,
    waiting: u64,
}

/// Stream, or response of a visit.
#[derive(Clone, Debug)]
struct Stream {
    end: EndId,
    /// First flow of the visit that it belongs to, or its own.
    visit: usize,
    number: u64,
    kind: u8,
    /// Request of a response, and its size.
    asked: Option<(Time, u64)>,
    points: Vec<Point>,
}

impl Stream {
    /// Records what has changed; once only the `ends` are recorded, the first byte and the last one.
    fn note(&mut self, point: Point, ends: bool) {
        let last = self.points.last().map_or((0, 0), |last| (last.read, last.waiting));
        let (is_first, is_last) = (last.0 == 0, self.asked.is_some_and(|(_, size)| size == point.read));
        if last != (point.read, point.waiting) && (!ends || self.asked.is_some() && (is_first || is_last)) {
            self.points.push(point);
        }
    }
}

/// Progress of one visit.
#[derive(Debug, Default)]
struct Responses {
    /// Streams of its responses.
    all: Vec<usize>,
    /// Responses of which some bytes are still to come, by connection.
    open: BTreeMap<usize, Vec<usize>>,
    buffer: Buffer,
}

/// Buffer of a video: straight lines over time.
#[derive(Debug, Default)]
struct Buffer {
    /// Time, level in seconds, and whether the video plays.
    last: Option<(Time, f64, bool)>,
    points: Vec<(Time, f64)>,
}

impl Buffer {
    /// Returns the level to which the last one has fallen at `now`: below zero by the time since it ran dry.
    fn fallen(&self, now: Time) -> Option<f64> {
        self.last.map(|(since, level, plays)| if plays { level - now.since(since).as_secs() } else { level })
    }

    /// Records the end of the line from the last level to `now`, and where it reached zero before. Returns the level there.
    fn drain(&mut self, now: Time) -> Option<f64> {
        let ((since, level, _), left) = self.last.zip(self.fallen(now))?;
        if left < 0.0 {
            let dry = since.as_nanos() as f64 + level * 1e9;
            self.points.push((Time::from_nanos(dry.round() as u64), 0.0));
        }
        self.points.push((now, left.max(0.0)));
        Some(left.max(0.0))
    }

    /// Records a level that is not the one to which the last has fallen.
    fn note(&mut self, now: Time, level: f64, plays: bool) {
        /// Levels are whole nanoseconds.
        const SAME: f64 = 2e-9;
        let is_level = |before: f64| (before - level).abs() < SAME;
        let is_expected = self.fallen(now).is_some_and(|left| is_level(left.max(0.0)));
        if is_expected && self.last.is_some_and(|last| last.2 == plays) {
            return;
        }
        if !self.drain(now).is_some_and(is_level) {
            self.points.push((now, level));
        }
        self.last = Some((now, level, plays));
    }
}

/// Streams of a run.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    all: Vec<Stream>,
    /// Streams by flow and number.
    by_number: BTreeMap<(usize, u64), usize>,
    /// Visits by their first flow.
    visits: BTreeMap<usize, Responses>,
}

impl Streams {
    /// Records what a receiver has; `ends` says that of responses only the first and the last byte are recorded, and nothing
    /// else.
    pub fn note(&mut self, now: Time, end: EndId, machine: &dyn Endpoint, visit: Option<(usize, &Visit)>, ends: bool) {
        if let Some(visit) = visit {
            return self.note_visit(now, end, machine, visit, ends);
        }
        for inflow in machine.inflows() {
            self.note_stream(now, end, &inflow, ends);
        }
    }

    fn note_stream(&mut self, now: Time, end: EndId, inflow: &Inflow, ends: bool) {
        let all = &mut self.all;
        let place = *self.by_number.entry((end.0, inflow.stream)).or_insert_with(|| {
            let kind = if inflow.counts_messages { MESSAGES } else { BYTES };
            all.push(Stream { end, visit: end.0, number: inflow.stream, kind, asked: None, points: Vec::new() });
            all.len() - 1
        });
        self.all[place].note(Point { time: now, read: inflow.read, waiting: inflow.waiting }, ends);
    }

    fn note_visit(
        &mut self,
        now: Time,
        end: EndId,
        machine: &dyn Endpoint,
        (connection, visit): (usize, &Visit),
        ends: bool,
    ) {
        let first = end.0 - connection;
        let responses = self.visits.entry(first).or_default();
        // What was asked for since the last event of any connection was asked for on this one.
        for number in responses.all.len()..visit.asked() {
            let asked = Some((now, visit.response(number).0));
            responses.all.push(self.all.len());
            responses.open.entry(connection).or_default().push(number);
            self.all.push(Stream {
                end,
                visit: first,
                number: number as u64,
                kind: RESPONSE,
                asked,
                points: Vec::new(),
            });
        }
        if let Some((level, plays)) = visit.level(now) {
            responses.buffer.note(now, level.as_secs(), plays);
        }
        let inflows = machine.inflows();
        let mut waiting = BTreeMap::<usize, u64>::new();
        for inflow in &inflows {
            for range in &inflow.beyond {
                visit.split(connection, inflow.stream, range, |number, bytes| {
                    *waiting.entry(number).or_default() += bytes;
                });
            }
        }
        let mut open = responses.open.remove(&connection).unwrap_or_default();
        open.retain(|number| {
            let (size, read) = visit.response(*number);
            let waiting = waiting.get(number).copied().unwrap_or(0);
            self.all[responses.all[*number]].note(Point { time: now, read, waiting }, ends);
            read < size
        });
        responses.open.insert(connection, open);
        // Which response a message belongs to only its sender knows.
        inflows
            .iter()
            .filter(|inflow| inflow.counts_messages)
            .for_each(|inflow| self.note_stream(now, end, inflow, ends));
    }

    /// Returns the buffers of videos over time, by their first flow; they are played until `end`.
    pub fn buffers(&mut self, end: Time) -> impl Iterator<Item = (u32, &[(Time, f64)])> {
        let viewed = self.visits.iter_mut().filter(|(_, visit)| visit.buffer.last.is_some());
        viewed.map(move |(&flow, Responses { buffer, .. })| {
            buffer.drain(end);
            (flow as u32, &buffer.points[..])
        })
    }

    /// Writes the streams.
    pub fn write(&self, sections: &mut Sections) {
        let all = || self.all.iter();
        let points = || all().flat_map(|stream| &stream.points).collect::<Vec<_>>().into_iter();
        let request = |what: fn((Time, u64)) -> f64| all().map(move |stream| stream.asked.map_or(NONE, what));
        sections.u32("stream.flow", all().map(|stream| stream.end.0 as u32));
        sections.u32("stream.visit", all().map(|stream| stream.visit as u32));
        sections.u8("stream.side", all().map(|stream| stream.end.1 as u8));
        sections.f64("stream.number", all().map(|stream| stream.number as f64));
        sections.u8("stream.kind", all().map(|stream| stream.kind));
        sections.f64("stream.asked", request(|(time, _)| time.as_nanos() as f64));
        sections.f64("stream.size", request(|(_, size)| size as f64));
        let mut next = 0;
        let mut starts = vec![0];
        starts.extend(all().map(|stream| {
            next += stream.points.len() as u32;
            next
        }));
        sections.u32("stream.points", starts.into_iter());
        sections.f64("point.time", points().map(|point| point.time.as_nanos() as f64));
        sections.f64("point.read", points().map(|point| point.read as f64));
        sections.f64("point.waiting", points().map(|point| point.waiting as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Two segments of 4 s come, it plays from the second one on and runs dry, and a third one ends the stall.
    #[test]
    fn a_buffer_falls_in_straight_lines_to_zero() {
        let mut buffer = Buffer::default();
        buffer.note(at(0), 0.0, false);
        buffer.note(at(1000), 4.0, false);
        buffer.note(at(1000), 4.0, false);
        buffer.note(at(2000), 8.0, true);
        buffer.note(at(5000), 5.0, true);
        buffer.note(at(11_000), 0.0, false);
        buffer.note(at(12_000), 4.0, false);
        let seen: Vec<_> = buffer.points.iter().map(|(time, level)| (time.as_secs(), *level)).collect();
        let wanted = [
            (0.0, 0.0),
            (1.0, 0.0),
            (1.0, 4.0),
            (2.0, 4.0),
            (2.0, 8.0),
            (10.0, 0.0),
            (11.0, 0.0),
            (12.0, 0.0),
            (12.0, 4.0),
        ];
        assert_eq!(seen, wanted);
    }
}
