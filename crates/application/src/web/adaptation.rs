//! Rate adaptation: the bit rate of a video's next segment.

use std::collections::VecDeque;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Rate};

/// State of a player at a choice.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Rates of the video, each higher than the one before.
    pub ladder: &'a [Rate],
    /// Video in the buffer.
    pub buffer: Duration,
    /// The rate of the segment before, by its place; none before the first.
    pub last: Option<usize>,
}

/// Chooses the rate of each segment of a video before it is asked for.
pub trait Adaptation: std::fmt::Debug + Send {
    /// Returns the index in the ladder of the next segment's rate.
    fn choose(&mut self, situation: &Situation<'_>) -> usize;
    /// Notes that a segment of `bytes` took `span`, from the request to its last byte.
    fn on_segment(&mut self, _bytes: u64, _span: Duration) {}
}

/// Makes an adaptation from its parameters.
pub type Build = fn(&Parameters) -> Box<dyn Adaptation>;

const SPAN: Kind = Kind::Duration(Duration::from_millis(1), Duration::from_secs(3600));

/// All adaptations.
pub const ADAPTATIONS: &[Entry<Build>] = &[
    Entry {
        name: "bba-0",
        aliases: &["buffer-based"],
        title: "Buffer-based adaptation",
        source: "Huang et al., A buffer-based approach to rate adaptation, SIGCOMM 2014, algorithm 1",
        help: "the rate rises with the buffer: the lowest up to the reservoir, the highest beyond the cushion",
        parameters: BufferBased::PARAMETERS,
        build: |p| Box::new(BufferBased::from(p)),
    },
    Entry {
        name: "rate-based",
        aliases: &["harmonic-mean"],
        title: "Rate-based adaptation",
        source: "Jiang, Sekar, Zhang, FESTIVE, CoNEXT 2012, section 4.3: the harmonic mean is robust to outliers",
        help: "the highest rate below the throughput of the segments before, as a harmonic mean",
        parameters: HarmonicMean::PARAMETERS,
        build: |p| Box::new(RateBased { mean: p.into(), costs: VecDeque::new() }),
    },
];

parameters! {
    /// BBA-0: the rate map is a straight line from the lowest rate, where the buffer holds the reservoir, to the highest,
    /// where it holds the cushion too. The rate is kept until the line has reached the next one above or below it.
    pub struct BufferBased {
        pub reservoir: Duration = SPAN, "90 s", "up to so much video in the buffer the rate is the lowest";
        pub cushion: Duration = SPAN, "126 s", "so much more of it, and the rate is the highest";
    }

    struct HarmonicMean {
        history: usize = Kind::Integer(1, 1000), "20", "over how many segments the mean is";
        safety: f64 = Kind::Number(0.01, 2.0), "0.85", "the part of it that is used";
    }
}

impl Adaptation for BufferBased {
    fn choose(&mut self, situation: &Situation<'_>) -> usize {
        let ladder = situation.ladder;
        let top = ladder.len() - 1;
        if situation.buffer <= self.reservoir {
            return 0;
        }
        if situation.buffer >= self.reservoir + self.cushion {
            return top;
        }
        let bps = |place: usize| ladder[place].as_bps() as f64;
        let part = (situation.buffer - self.reservoir).as_secs() / self.cushion.as_secs();
        let line = bps(0) + (bps(top) - bps(0)) * part;
        let last = situation.last.unwrap_or(0);
        if line >= bps((last + 1).min(top)) {
            (0..=top).rev().find(|&place| bps(place) < line).unwrap_or(0)
        } else if line <= bps(last.saturating_sub(1)) {
            (0..=top).find(|&place| bps(place) > line).unwrap_or(top)
        } else {
            last
        }
    }
}

/// The highest rate that the mean throughput lets through.
#[derive(Clone, Debug)]
pub struct RateBased {
    mean: HarmonicMean,
    /// Seconds that a bit took, of each segment.
    costs: VecDeque<f64>,
}

impl Adaptation for RateBased {
    fn choose(&mut self, situation: &Situation<'_>) -> usize {
        let sum: f64 = self.costs.iter().sum();
        let usable = if sum > 0.0 { self.mean.safety * self.costs.len() as f64 / sum } else { 0.0 };
        situation.ladder.iter().rposition(|rate| rate.as_bps() as f64 <= usable).unwrap_or(0)
    }

    fn on_segment(&mut self, bytes: u64, span: Duration) {
        if self.costs.len() == self.mean.history {
            self.costs.pop_front();
        }
        self.costs.push_back(span.as_secs() / (8.0 * bytes as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn choices(adaptation: &mut dyn Adaptation, ladder: &[u64], steps: &[(u64, Option<usize>)]) -> Vec<usize> {
        let ladder: Vec<_> = ladder.iter().map(|&kbps| Rate::from_bps(1000 * kbps)).collect();
        let choose = |&(buffer, last)| adaptation.choose(&Situation { ladder: &ladder, buffer: secs(buffer), last });
        steps.iter().map(choose).collect()
    }

    /// Algorithm 1 by hand: rates of 100, 200, 300 and 500 kbit/s, a line from 100 at 10 s to 500 at 50 s: 10 kbit/s a
    /// second.
    #[test]
    fn the_buffer_decides_as_in_algorithm_1() {
        let mut bba = BufferBased { reservoir: secs(10), cushion: secs(40) };
        let steps = [
            (10, Some(3)), // the reservoir: the lowest
            (50, Some(0)), // beyond the cushion: the highest
            (15, Some(0)), // the line says 150: not yet 200
            (20, Some(0)), // 200, which is the next: the highest below 200
            (21, Some(0)), // 210: the highest below it
            (35, Some(0)), // 350
            (25, Some(2)), // 250, above 200: kept
            (20, Some(2)), // 200, the next below: the lowest above 200
            (15, Some(2)), // 150: the lowest above it
            (49, Some(3)), // 490: kept, as 300 is below
        ];
        assert_eq!(choices(&mut bba, &[100, 200, 300, 500], &steps), [0, 3, 0, 0, 1, 2, 2, 2, 1, 3]);
    }

    /// 1, 2 and 4 Mbit/s have a harmonic mean of 12/7 Mbit/s; 85 % of it is 1.457.
    #[test]
    fn the_harmonic_mean_decides() {
        let mut rate = RateBased { mean: HarmonicMean { history: 3, safety: 0.85 }, costs: VecDeque::new() };
        let ladder = [500, 1000, 1457, 1458];
        assert_eq!(choices(&mut rate, &ladder, &[(60, Some(3))]), [0]);
        // Forgotten, as it is the fourth before.
        rate.on_segment(1, secs(100));
        for megabits in [1, 2, 4] {
            rate.on_segment(megabits * 125_000, secs(1));
        }
        assert_eq!(choices(&mut rate, &ladder, &[(60, None)]), [2]);
    }
}
