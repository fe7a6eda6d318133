//! Random and scripted loss on a link, one page a model. A lost packet has used the link's time: it vanishes on the wire.

mod bernoulli;
mod bit_errors;
mod gilbert_elliott;
mod list;
mod periodic;
mod train;

pub use bernoulli::Bernoulli;
pub use bit_errors::BitErrors;
pub use gilbert_elliott::GilbertElliott;
pub use list::List;
pub use periodic::Periodic;
pub(crate) use train::Car;
pub use train::{Trains, Unit};

use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{RandomStream, Time};

/// Decides which of the packets sent over one direction of a link are lost.
pub trait LossModel: Send {
    /// Returns whether the next packet, of `size` bytes, is lost. Called once for each packet in the order of sending;
    /// where the [unit](Unit) is a train, once for each train, with the size of its first packet.
    fn lose(&mut self, size: u32) -> bool;

    /// Returns whether the next packet, of `size` bytes, is lost; its sending ends at `now`.
    fn lose_at(&mut self, _now: Time, size: u32) -> bool {
        self.lose(size)
    }
}

/// Makes a loss model from its parameters and the random stream of its link and direction.
pub type Constructor = fn(&Parameters, RandomStream) -> Box<dyn LossModel>;

/// The loss model that a number alone, its first parameter, stands for.
pub const INDEPENDENT: Entry<Constructor> = bernoulli::ENTRY;

/// All loss models.
pub const LOSS_MODELS: &[Entry<Constructor>] =
    &[bernoulli::ENTRY, gilbert_elliott::ENTRY, bit_errors::ENTRY, periodic::ENTRY, list::ENTRY];
