//! Applications of flows.

use vazao_application::{Build, RandomStreams, Sides, Visit};
use vazao_engine::registry::{Entry, Parameters};

/// Application as described.
pub type Described = (&'static Entry<Build>, Parameters);

/// Returns both sides of an application.
pub(crate) fn sides((entry, parameters): &Described, streams: RandomStreams) -> Sides {
    match entry.build {
        Build::Sides(build) => build(parameters, streams),
        Build::Arrivals(_) => unreachable!("arrivals are flows of other applications"),
        Build::Visit(_) => Sides::of_visit(0, 0),
    }
}

/// Returns the visit of an application to a web server, if it makes one.
pub(crate) fn visit((entry, parameters): &Described, streams: RandomStreams) -> Option<Visit> {
    if let Build::Visit(build) = entry.build { Some(build(parameters, streams)) } else { None }
}
