//! Random and scripted loss on a link, one page a model. A lost packet has used the link's time: it vanishes on the wire.

mod bernoulli;
mod list;
mod periodic;

pub use bernoulli::Bernoulli;
pub use list::List;
pub use periodic::Periodic;

use vazao_engine::Stream;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};

/// Decides which of the packets sent over one direction of a link are lost.
pub trait LossModel: Send {
    /// Whether the next packet, of `size` bytes, is lost. Called once for each packet in the order of sending.
    fn lose(&mut self, size: u32) -> bool;
}

/// Makes a loss model from its parameters and the random stream of its link and direction.
pub type Constructor = fn(&Parameters, Stream) -> Box<dyn LossModel>;

/// All loss models.
pub const LOSS_MODELS: &[Entry<Constructor>] = &[
    Entry {
        name: "bernoulli",
        aliases: &["uniform"],
        title: "Bernoulli loss",
        source: "independent trials",
        help: "each packet is lost with the same probability, whatever happened before",
        parameters: &[Parameter::required("p", Kind::Number(0.0, 1.0), "probability that a packet is lost")],
        build: |p, stream| Box::new(Bernoulli::new(p.number("p"), stream)),
    },
    Entry {
        name: "periodic",
        aliases: &[],
        title: "Periodic loss",
        source: "Mathis et al. 1997, the model behind 1.22/sqrt(p)",
        help: "every n-th packet is lost",
        parameters: &[
            Parameter::required("every", Kind::Integer(1, i64::MAX), "n: packets from one loss to the next"),
            Parameter::new("first", Kind::Integer(0, i64::MAX), "0", "the first packet lost; 0 means the n-th"),
        ],
        build: |p, _| Box::new(Periodic::new(p.integer("every"), p.integer("first"))),
    },
    Entry {
        name: "list",
        aliases: &[],
        title: "Listed loss",
        source: "scripted",
        help: "the packets with these numbers are lost, counted from 1 in the order of sending",
        parameters: &[Parameter::required("packets", Kind::Integers, "numbers of the packets to lose")],
        build: |p, _| Box::new(List::new(p.integers("packets"))),
    },
];
