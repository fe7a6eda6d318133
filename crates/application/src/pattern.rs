//! Patterns of messages: gaps and sizes drawn from laws, in bursts or not, or as a script of the user's says.

use crate::RandomStreams;
use std::fmt;
use std::sync::Arc;
use vazao_engine::{Duration, Law, RandomStream, Time};

/// Messages that a user's own code writes.
pub trait Script: Send {
    /// Returns the bytes of the message that comes at `now`, and the time until the next one; `None`: no more come.
    fn next(&mut self, now: Time) -> Option<(u64, Duration)>;
}

/// Function that makes a script from its random stream.
pub type ScriptFactory = Arc<dyn Fn(RandomStream) -> Box<dyn Script> + Send + Sync>;

/// A script, made when its first message is due.
struct Scripted {
    make: ScriptFactory,
    stream: RandomStream,
    made: Option<Box<dyn Script>>,
}

/// A copy begins anew.
impl Clone for Scripted {
    fn clone(&self) -> Self {
        Scripted { make: self.make.clone(), stream: self.stream.clone(), made: None }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}

/// Messages one after the other.
#[derive(Clone, Debug)]
pub struct Pattern(Source);

#[derive(Clone, Debug)]
enum Source {
    Laws(Laws),
    /// A script; `None`: none is given so far, and no message comes.
    Script(Option<Scripted>),
}

/// Gaps and sizes: what D-ITG calls the inter-departure time (IDT) and the packet size (PS), each of any
/// distribution; in on and off times if there are such (Willinger et al., *Self-similarity through high-variability*,
/// SIGCOMM 1995: many sources with heavy-tailed ones are what aggregate traffic looks like).
#[derive(Clone, Debug)]
struct Laws {
    idt: Law,
    ps: Law,
    gaps: RandomStream,
    sizes: RandomStream,
    bursts: Option<Bursts>,
}

/// On and off times.
#[derive(Clone, Debug)]
struct Bursts {
    on: Law,
    off: Law,
    stream: RandomStream,
    /// Rest of the on time.
    left: Option<Duration>,
}

impl Pattern {
    /// Messages of random sizes (bytes) with random gaps (nanoseconds) from the start of one to the start of the next.
    pub fn new(idt: Law, ps: Law, streams: RandomStreams) -> Pattern {
        Pattern(Source::Laws(Laws::new(idt, ps, streams)))
    }

    /// Messages of random sizes and gaps in on times, the first of which begins at once. An off time follows each.
    pub fn in_bursts(idt: Law, ps: Law, [on, off]: [Law; 2], streams: RandomStreams) -> Pattern {
        let bursts = Bursts { on, off, stream: streams.of("on-off"), left: None };
        Pattern(Source::Laws(Laws { bursts: Some(bursts), ..Laws::new(idt, ps, streams) }))
    }

    /// Messages as a script says; without one, none.
    pub fn scripted(make: Option<ScriptFactory>, streams: RandomStreams) -> Pattern {
        Pattern(Source::Script(make.map(|make| Scripted { make, stream: streams.of("script"), made: None })))
    }

    /// Returns whether a script, which may end them, says which messages come.
    pub(crate) fn is_scripted(&self) -> bool {
        matches!(self.0, Source::Script(Some(_)))
    }

    /// Returns the size of the message that comes at `now`, and how long after it the next one does; `None`: no more come.
    pub(crate) fn next_at(&mut self, now: Time) -> Option<(u64, Duration)> {
        match &mut self.0 {
            Source::Laws(laws) => Some(laws.next()),
            Source::Script(script) => {
                let Scripted { make, stream, made } = script.as_mut()?;
                made.get_or_insert_with(|| make(stream.clone())).next(now)
            }
        }
    }

    /// Size and gap, if they are always the same.
    pub fn constant(&self) -> Option<(u64, Duration)> {
        let Source::Laws(Laws { idt: Law::Constant(gap), ps: Law::Constant(size), bursts: None, .. }) = &self.0 else {
            return None;
        };
        Some((*size as u64, Duration::from_nanos(*gap as u64)))
    }
}

impl Laws {
    fn new(idt: Law, ps: Law, streams: RandomStreams) -> Laws {
        Laws { idt, ps, gaps: streams.of("idt"), sizes: streams.of("ps"), bursts: None }
    }

    /// Returns the size of the message that comes now, and how long after it the next one does.
    fn next(&mut self) -> (u64, Duration) {
        let size = self.ps.bytes(&mut self.sizes);
        let gap = self.idt.span(&mut self.gaps);
        (size, self.bursts.as_mut().map_or(gap, |bursts| bursts.pass(gap)))
    }
}

impl Bursts {
    /// Returns a gap, with the off time that comes between if the on time ends in it: the next message then opens the
    /// next on time.
    fn pass(&mut self, gap: Duration) -> Duration {
        let left = self.left.take().unwrap_or_else(|| self.on.span(&mut self.stream));
        if gap < left {
            self.left = Some(left - gap);
            return gap;
        }
        left + self.off.span(&mut self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAMS: RandomStreams = RandomStreams { seed: 1, flow: 0 };

    /// Nanoseconds from the next message to the one after it.
    fn gap(pattern: &mut Pattern) -> u64 {
        pattern.next_at(Time::ZERO).expect("laws never end").1.as_nanos()
    }

    #[test]
    fn bursts_are_as_long_as_their_times_say() {
        let ms = |n: u32| Law::Constant(f64::from(n) * 1e6);
        let mut pattern = Pattern::in_bursts(ms(10), Law::Constant(100.0), [ms(25), ms(100)], STREAMS);
        // Messages at 0, 10, 20 ms; the on time ends at 25 and the next begins at 125.
        let gaps: Vec<_> = (0..6).map(|_| gap(&mut pattern) / 1_000_000).collect();
        assert_eq!(gaps, [10, 10, 105, 10, 10, 105]);
    }

    /// In an exponential on time T the number of messages is E[ceil(T / gap)] = 1 / (1 - exp(-gap / mean)).
    #[test]
    fn the_mean_rate_is_that_of_the_shares() {
        let on = Law::Exponential(50e6);
        let off = Law::Pareto { shape: 2.5, scale: 60e6 };
        let per_cycle = 1.0 / (1.0 - libm::exp(-1.0 / 50.0));
        let cycle = 50e6 + off.mean();
        let mut pattern = Pattern::in_bursts(Law::Constant(1e6), Law::Constant(100.0), [on, off], STREAMS);
        let n = 400_000;
        let time: u64 = (0..n).map(|_| gap(&mut pattern)).sum();
        let cycles = f64::from(n) / per_cycle;
        // Four standard errors of the cycles' time: deviations 50 ms and 89 ms (2.5^0.5 / (1.5 * 0.5^0.5) * 60 ms).
        let deviation = libm::sqrt(50e6 * 50e6 + 89.4e6 * 89.4e6);
        let bound = 4.0 * deviation / cycle / libm::sqrt(cycles);
        let got = time as f64 / (cycles * cycle);
        assert!((got - 1.0).abs() < bound, "{got} within {bound}");
    }
}
