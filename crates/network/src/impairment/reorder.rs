use super::Chance;
use vazao_engine::registry::{Entry, Kind, ParameterError, Parameters, parameters};
use vazao_engine::{Duration, RandomStream};

parameters! {
    struct Settings {
        probability: f64 = Kind::Number(0.0, 1.0), "of a packet to be late (netem's: of one to be early)";
        gap: Option<u64> = Kind::Integer(1, 1_000_000), "",
            "late by as long as so many packets of its size take to be sent: on a busy link so many overtake it; without \
             it and delay, 1";
        delay: Option<Duration> = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600)), "",
            "late by so much, in place of gap";
    }
}

pub(super) const ENTRY: Entry<super::Build> = Entry {
    name: "reorder",
    aliases: &["reordering"],
    title: "Reordering",
    source: "late packets; RFC 4737 for what it does to flows",
    help: "some packets are late, so that others overtake them: reorder = 0.01, or a table",
    parameters: Settings::PARAMETERS,
    build: super::Build::Delay(|p, stream, wire| {
        wire.reorder = Some(Reorder::new(p, stream)?);
        Ok(())
    }),
};

/// Some packets are late.
#[derive(Clone, Debug)]
pub struct Reorder {
    chance: Chance,
    gap: u64,
    delay: Option<u64>,
}

impl Reorder {
    /// Reordering with the registry's parameters.
    ///
    /// # Errors
    /// It has a gap and a delay, of which only one can be.
    pub fn new(p: &Parameters, stream: RandomStream) -> Result<Reorder, ParameterError> {
        let Settings { probability, gap, delay } = p.into();
        if gap.is_some() && delay.is_some() {
            let problem = "has no effect beside delay, which says how late in its place; leave one of them out";
            return Err(ParameterError::new(&["gap"], problem));
        }
        let (gap, delay) = (gap.unwrap_or(1), delay.map(Duration::as_nanos));
        Ok(Reorder { chance: Chance::new(probability, stream), gap, delay })
    }

    /// Returns the lateness in nanoseconds of the next packet, which takes `time` to be sent.
    pub fn delay(&mut self, time: u64) -> u64 {
        if !self.chance.strikes() {
            return 0;
        }
        // A nanosecond more than the packets that are to overtake it.
        self.delay.unwrap_or(self.gap * time + 1)
    }
}
