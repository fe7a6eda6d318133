use super::LossModel;
use vazao_engine::Time;
use vazao_engine::registry::{Parameter, choice};

choice! {
    /// What one draw of a loss model decides on.
    pub enum Unit {
        /// Each packet by itself.
        Packet = "packet",
        /// All packets of a [train](Trains) together.
        Train = "train",
    }
}

/// Unit of a loss model.
pub(crate) const UNIT: Parameter = Parameter::shared(
    Unit::KIND,
    "packet",
    "what one draw decides on: a packet; or a train, all packets that a flow sent at one instant and that come one after \
     the other, up to 64 KiB, as netem does to a segment that is cut after it (GSO, TSO, GRO)",
);

/// Bytes of the longest train: the largest super-packet of Linux (GSO_MAX_SIZE).
const LONGEST: u32 = 65_536;

/// Losses by train.
///
/// A train is what a host of today hands to its queue as one packet and cuts only behind it: packets of one flow,
/// direction and path that their sender sent at the same instant, that reach the link one after the other with none of
/// another between them, and that have 64 KiB at most together. A packet that does not fit begins the next one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trains {
    last: Option<Train>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    car: Car,
    /// Bytes so far.
    bytes: u32,
    lost: bool,
}

/// What tells to which train a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Car {
    /// Receiver, and position in the table of routes.
    pub to: u32,
    pub hop: u32,
    pub sent: Time,
}

impl Trains {
    /// Returns whether a packet of `size` bytes is lost: as the train is that it belongs to, or as the model says of a
    /// new one.
    pub(crate) fn lose(&mut self, car: Car, size: u32, model: &mut dyn LossModel) -> bool {
        let follows = |train: &&mut Train| train.car == car && train.bytes + size <= LONGEST;
        if let Some(train) = self.last.as_mut().filter(follows) {
            train.bytes += size;
            return train.lost;
        }
        let lost = model.lose(size);
        self.last = Some(Train { car, bytes: size, lost });
        lost
    }
}
