//! Player of adaptive video: segments of a few seconds, each at a rate that is chosen before it is requested.

use super::adaptation::{ADAPTATIONS, Adaptation, Situation};
use super::http::{HEADER, REQUEST};
use vazao_engine::registry::{Kind, Parameters, find, parameters};
use vazao_engine::{Duration, Rate, Time};

parameters! {
    pub(crate) struct Settings {
        ladder: Vec<Rate> = Kind::Rates,
            "235 kbps, 375 kbps, 560 kbps, 750 kbps, 1050 kbps, 1750 kbps, 2350 kbps, 3 Mbps, 4300 kbps, 5800 kbps",
            "bit rates of the video, rising (Netflix's for all titles, until Aaron et al., Per-title encode optimization, 2015)";
        segment: Duration = SPAN, "4 s", "how much video a segment holds";
        duration: Option<Duration> = SPAN, "", "how long the video is, in whole segments; without it, until the run ends";
        startup: Duration = SPAN, "8 s", "it plays as soon as the buffer holds so much video, or all there is";
        resume: Option<Duration> = SPAN, "",
            "after a stall it plays on as soon as the buffer holds so much; without it, as startup";
        buffer: Duration = SPAN, "240 s", "video that the buffer can hold: a segment is asked for once it has room";
        adaptation: (String, Parameters) = Kind::Entry("adaptation"), "bba-0",
            "what chooses the rate of the next segment";
        pub request: u64 = REQUEST;
        pub header: u64 = HEADER;
    }
}

const SPAN: Kind = Kind::Duration(Duration::from_millis(1), Duration::from_secs(1_000_000));

/// A player: what it has fetched, and what its viewer sees.
#[derive(Debug)]
pub(crate) struct Player {
    ladder: Vec<Rate>,
    segment: Duration,
    /// Segments of the whole video.
    count: Option<u64>,
    startup: Duration,
    resume: Duration,
    most: Duration,
    adaptation: Box<dyn Adaptation>,
    fetched: u64,
    /// Request time of the segment under way, and its bytes.
    under_way: Option<(Time, u64)>,
    /// The rate of the latest, by its place.
    last: Option<usize>,
    /// State of the buffer at a time, and whether the video was playing.
    at: Time,
    buffer: Duration,
    playing: bool,
    /// Start of the viewer's wait; at first, the opening of the video.
    waiting_since: Time,
    viewing: Viewing,
    /// Kilobits a second of all segments, added up.
    rates: f64,
}

/// Quality of a viewing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Viewing {
    /// Time from the start of the flow until the video plays.
    pub startup: Option<Duration>,
    /// Number of stalls for want of data.
    pub stalls: u64,
    /// Total time of stalls.
    pub stalled: Duration,
    /// Mean bit rate of the segments fetched, in bit/s.
    pub bitrate: Option<f64>,
    /// Number of rate changes from one segment to the next.
    pub switches: u64,
}

impl Player {
    pub fn new(settings: Settings) -> Player {
        let Settings { ladder, segment, duration, startup, resume, buffer, adaptation: (name, own), .. } = settings;
        let entry = find("adaptation", ADAPTATIONS, &name).expect("an adaptation of the registry");
        let whole = |duration: Duration| duration.as_nanos().div_ceil(segment.as_nanos());
        Player {
            ladder,
            segment,
            count: duration.map(whole),
            startup,
            resume: resume.unwrap_or(startup),
            most: buffer,
            adaptation: (entry.build)(&own),
            fetched: 0,
            under_way: None,
            last: None,
            at: Time::ZERO,
            buffer: Duration::ZERO,
            playing: false,
            waiting_since: Time::ZERO,
            viewing: Viewing::default(),
            rates: 0.0,
        }
    }

    /// Opens the video.
    pub fn begin(&mut self, now: Time) {
        (self.at, self.waiting_since) = (now, now);
    }

    /// Returns whether all of it was fetched: the rest cannot stall.
    pub fn is_fetched(&self) -> bool {
        self.count == Some(self.fetched)
    }

    pub fn is_endless(&self) -> bool {
        self.count.is_none()
    }

    /// Returns the buffer at the last update.
    pub fn buffer(&self) -> Duration {
        self.buffer
    }

    /// Returns the video in the buffer at `now`, and whether it plays.
    pub fn level(&self, now: Time) -> (Duration, bool) {
        let played = if self.playing { now.since(self.at) } else { Duration::ZERO };
        (self.buffer.saturating_sub(played), self.playing && (played <= self.buffer || self.is_fetched()))
    }

    /// Returns the rate of the latest segment.
    pub fn bitrate(&self) -> Option<Rate> {
        self.last.map(|place| self.ladder[place])
    }

    /// Returns the length of the video.
    pub fn duration(&self) -> Option<Duration> {
        self.count.map(|count| self.segment * count)
    }

    /// Bytes at the highest rate.
    pub fn volume(&self) -> Option<f64> {
        let highest = self.ladder.iter().max()?.as_bps() as f64;
        self.duration().map(|span| span.as_secs() * highest / 8.0)
    }

    /// Plays until now: the buffer shrinks, and where it was empty the viewer waits.
    fn play(&mut self, now: Time) {
        let span = now.since(self.at);
        if self.playing {
            if span > self.buffer && !self.is_fetched() {
                self.playing = false;
                self.waiting_since = self.at + self.buffer;
                self.viewing.stalls += 1;
            }
            self.buffer = self.buffer.saturating_sub(span);
        }
        self.at = now;
    }

    /// Returns the number of segments that it would request now.
    pub fn wishes(&mut self, now: Time) -> usize {
        self.play(now);
        usize::from(self.under_way.is_none() && !self.is_fetched() && self.has_room())
    }

    /// Returns whether the buffer can hold one more. While nothing plays it always can, or playing would never start.
    fn has_room(&self) -> bool {
        !self.playing || self.buffer + self.segment <= self.most
    }

    /// Bytes of the segment that it asks for now.
    pub fn wish(&mut self, now: Time) -> Option<u64> {
        if self.wishes(now) == 0 {
            return None;
        }
        let situation = Situation { ladder: &self.ladder, buffer: self.buffer, last: self.last };
        let place = self.adaptation.choose(&situation);
        self.viewing.switches += u64::from(self.last.is_some_and(|last| last != place));
        self.last = Some(place);
        let bytes = self.ladder[place].bytes_in(self.segment).get().max(1);
        self.under_way = Some((now, bytes));
        Some(bytes)
    }

    pub fn on_response(&mut self, now: Time) {
        let (asked, bytes) = self.under_way.take().expect("a segment that was asked for");
        self.play(now);
        self.adaptation.on_segment(bytes, now.since(asked));
        self.fetched += 1;
        self.buffer += self.segment;
        self.rates += self.last.map_or(0.0, |place| self.ladder[place].as_bps() as f64);
        let threshold = if self.viewing.startup.is_none() { self.startup } else { self.resume };
        if !self.playing && (self.buffer >= threshold || self.is_fetched()) {
            self.playing = true;
            let waited = now.since(self.waiting_since);
            match self.viewing.startup {
                None => self.viewing.startup = Some(waited),
                Some(_) => self.viewing.stalled += waited,
            }
        }
    }

    /// Returns the time at which the buffer can hold a segment again, if it waits for that.
    pub fn next_wake(&self) -> Time {
        if self.under_way.is_some() || self.is_fetched() || self.has_room() {
            return Time::NEVER;
        }
        self.at + (self.buffer + self.segment).saturating_sub(self.most)
    }

    /// Returns the viewing until now, or until the end of the video.
    pub fn viewing(&self, now: Time) -> Viewing {
        let mut viewing = self.viewing;
        let ran_dry = if self.playing { self.at + self.buffer } else { self.waiting_since };
        if self.playing && !self.is_fetched() && now > ran_dry {
            viewing.stalls += 1;
        }
        if viewing.startup.is_some() && !self.is_fetched() {
            viewing.stalled += now.since(ran_dry.min(now));
        }
        viewing.bitrate = (self.fetched > 0).then(|| self.rates / self.fetched as f64);
        viewing
    }
}
