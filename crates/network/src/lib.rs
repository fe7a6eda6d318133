//! Links, queues, impairments, topologies and routes, generic over what a packet carries.
//!
//! A [`Network`] moves packets over links along routes that were computed once. It knows no protocol: whoever runs it
//! hands packets in, is told of each that reaches the end of its route or is dropped, and reads what the links saw.

pub mod ahead;
pub mod delay;
mod direction;
mod graph;
mod held;
mod host;
pub mod impairment;
mod layout;
mod link;
pub mod loss;
mod network;
pub mod own;
mod packet;
pub mod queue;
pub mod rate;
mod routing;
pub mod topology;

pub use ahead::Path;
pub use delay::DELAYS;
pub use direction::{Direction, ImpairmentSpec, QueueSpec};
pub use graph::{Duplex, Given, Graph, GraphError, Node, NodeKind, Step};
pub use held::Runs;
pub use host::Host;
pub use impairment::{IMPAIRMENTS, Impairments};
pub use layout::Place;
pub use link::LinkReport;
pub use loss::{LOSS_MODELS, LossModel};
pub use network::{DropCause, Fate, Inspection, LinkId, Network, RouteId};
pub use packet::{Outgoing, Packet, PacketId};
pub use queue::QUEUES;
pub use rate::{RATES, SHAPERS, Variation};
pub use routing::Routing;
pub use vazao_engine::Capacity;
pub use vazao_engine::Ecn;
