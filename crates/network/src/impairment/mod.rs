//! Impairments of a wire besides losses, one module each. Every impairment has a random stream of its own and
//! draws for each packet that is sent, whatever the others did to it: none disturbs another.

mod jitter;
mod outage;
mod policer;
mod reorder;

pub use jitter::Jitter;
pub(crate) use outage::any_at;
pub use outage::{ENTRY as OUTAGES, Outage};
pub use policer::Policer;
pub use reorder::Reorder;

use crate::delay::Course;
use crate::loss::{Car, LossModel, Trains};
use vazao_engine::registry::{Entry, Kind, Parameter, ParameterError, Parameters, parameters};
use vazao_engine::{RandomStream, Time};

/// Most packets in a row that may be struck.
pub(crate) const IN_A_ROW: Parameter = Parameter::shared(
    Kind::Integer(1, 1_000_000),
    "",
    "so many packets in a row at most, and never the one after them; without it, any number",
);

/// Adds an impairment with a random stream of its own to what a wire does, or says which of its parameters do not go
/// together.
pub type Make = fn(&Parameters, RandomStream, &mut Impairments) -> Result<(), ParameterError>;

/// Factory of an impairment.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// Impairment that strikes packets.
    Strike(Make),
    /// Impairment that moves arrivals.
    Delay(Make),
    /// Impairment in front of the queue.
    Entrance(Make),
    /// Time spans in which nothing gets through, of which a link may have several.
    Outage(fn(&Parameters) -> Result<Outage, ParameterError>),
}

parameters! {
    struct Duplicate {
        probability: f64 = Kind::Number(0.0, 1.0), "of a packet to arrive twice";
        in_a_row: Option<u64> = IN_A_ROW;
    }

    struct Corrupt {
        probability: f64 = Kind::Number(0.0, 1.0), "of a packet to have wrong bits";
        in_a_row: Option<u64> = IN_A_ROW;
    }

    struct Alter { probability: f64 = Kind::Number(0.0, 1.0), "of a packet's payload to be altered"; }
}

/// All impairments, by the key that a link has for each. The first parameter may stand for all of them; one whose
/// first is the number 0 does nothing.
pub const IMPAIRMENTS: &[Entry<Build>] = &[
    jitter::ENTRY,
    reorder::ENTRY,
    Entry {
        name: "duplicate",
        aliases: &["duplication"],
        title: "Duplication",
        source: "independent trials",
        help: "some packets arrive twice, at the same time: duplicate = 0.01. The copy takes no time on this link",
        parameters: Duplicate::PARAMETERS,
        build: Build::Strike(|p, stream, wire| {
            let Duplicate { probability, in_a_row } = p.into();
            wire.duplicate = Some(Chance::new(probability, stream).limited(in_a_row));
            Ok(())
        }),
    },
    Entry {
        name: "corrupt",
        aliases: &["corruption"],
        title: "Corruption",
        source: "independent trials; in_a_row: quic-network-simulator's `corrupt-rate`",
        help: "some packets arrive with wrong bits, and the host's checksum drops them: corrupt = 0.001",
        parameters: Corrupt::PARAMETERS,
        build: Build::Strike(|p, stream, wire| {
            let Corrupt { probability, in_a_row } = p.into();
            wire.corrupt = Some(Chance::new(probability, stream).limited(in_a_row));
            Ok(())
        }),
    },
    Entry {
        name: "alter",
        aliases: &["alteration"],
        title: "Alteration",
        source: "independent trials; Honda et al., IMC 2011",
        help: "a middlebox at the link's end alters the payload of some packets of TCP and Multipath TCP, and makes their checksums right again: alter = 0.001. A flow whose receiver takes that for data is not intact",
        parameters: Alter::PARAMETERS,
        build: Build::Strike(|p, stream, wire| {
            wire.alter = Some(Chance::new(Alter::from(p).probability, stream));
            Ok(())
        }),
    },
    outage::ENTRY,
    policer::ENTRY,
];

/// Independent trials: one draw each, compared with a threshold.
#[derive(Clone, Debug)]
pub struct Chance {
    threshold: u64,
    stream: RandomStream,
    /// Number of strikes in a row so far, and at most.
    row: u64,
    most: u64,
}

impl Chance {
    /// Strikes with this probability, from 0 to 1.
    pub fn new(probability: f64, stream: RandomStream) -> Chance {
        // The cast saturates, so 1 strikes at all but one draw in 2^64.
        Chance { threshold: (probability * 18_446_744_073_709_551_616.0) as u64, stream, row: 0, most: u64::MAX }
    }
    /// Limits the number of strikes in a row.
    pub(crate) fn limited(self, most: Option<u64>) -> Chance {
        Chance { most: most.unwrap_or(u64::MAX), ..self }
    }
    /// Returns whether it strikes this time.
    pub fn strikes(&mut self) -> bool {
        // The draw is made in any case: what comes later does not depend on the limit.
        let strikes = self.stream.bits() < self.threshold && self.row < self.most;
        self.row = if strikes { self.row + 1 } else { 0 };
        strikes
    }
}

/// Impairments of the wire of one direction of a link.
#[derive(Default)]
pub struct Impairments {
    /// Losses.
    pub loss: Option<Box<dyn LossModel>>,
    /// Trains of packets, where these are lost together.
    pub trains: Option<Trains>,
    /// Outages that lose packets.
    pub outages: Vec<Outage>,
    /// Corrupted packets.
    pub corrupt: Option<Chance>,
    /// Packets whose content a middlebox at its end alters.
    pub alter: Option<Chance>,
    /// Duplicated packets.
    pub duplicate: Option<Chance>,
    /// Additional delay.
    pub jitter: Option<Jitter>,
    /// Late packets.
    pub reorder: Option<Reorder>,
    /// Delay that changes over time, in place of the link's own, which is the least of it.
    pub course: Option<Course>,
    /// Policer in front of the queue.
    pub policer: Option<Policer>,
    /// Middlebox at its end, by a number to which the maker of the packets gives a meaning; 0: there is
    /// none.
    pub middlebox: u16,
}

/// Fate of one packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Harm {
    pub lost: bool,
    pub corrupt: bool,
    pub altered: bool,
    pub twice: bool,
    /// Nanoseconds that the delay differs by from the link's own, which those behind may have to wait for too.
    pub shift: i64,
    /// Nanoseconds on top of that, which they need not.
    pub late: u64,
}

impl Impairments {
    /// Returns whether deliveries have times of their own, so that the departures cannot be told from them.
    pub(crate) fn moves_arrivals(&self) -> bool {
        self.jitter.is_some() || self.reorder.is_some() || self.course.is_some()
    }

    /// Decides on a packet of `size` bytes that took `time` to be sent, until `end`.
    pub(crate) fn harm(&mut self, end: u64, car: Car, size: u32, time: u64) -> Harm {
        let lost = self.loss.as_mut().is_some_and(|loss| match &mut self.trains {
            Some(trains) => trains.lose(car, size, &mut **loss),
            None => loss.lose_at(Time::from_nanos(end), size),
        });
        Harm {
            lost: lost || any_at(&self.outages, end).0,
            corrupt: self.corrupt.as_mut().is_some_and(Chance::strikes),
            altered: self.alter.as_mut().is_some_and(Chance::strikes),
            twice: self.duplicate.as_mut().is_some_and(Chance::strikes),
            shift: self.jitter.as_mut().map_or(0, Jitter::delay)
                + self.course.as_ref().map_or(0, |c| c.above_least(end)),
            late: self.reorder.as_mut().map_or(0, |reorder| reorder.delay(time)),
        }
    }

    /// Returns whether a packet waits for those sent before it that are not late.
    pub(crate) fn keeps_order(&self) -> bool {
        self.jitter.as_ref().is_none_or(|jitter| jitter.keeps_order)
            && self.course.as_ref().is_none_or(|course| course.keeps_order)
    }
}
