//! Flows: answers about one.

use super::application::{sides, visit};
use super::routes::PlannedWay;
use super::scenario::FlowSpec;
use std::collections::BTreeSet;
use vazao_application::{Sides, Visit};
use vazao_network::Routing;

/// Classes of flow sizes in studies of short flows (Alizadeh et al., *pFabric*, SIGCOMM 2013), with their upper ends in
/// bytes.
const SIZE_CLASSES: [(f64, &str); 3] =
    [(100e3, "up to 100 kB"), (10e6, "100 kB to 10 MB"), (f64::INFINITY, "above 10 MB")];

impl FlowSpec {
    /// Returns both sides of its application at the start.
    pub(crate) fn sides(&self) -> Sides {
        let sides = sides(&self.application, self.streams);
        match self.script.as_ref().and_then(|script| script.plugin.as_ref()) {
            Some(plugin) => sides.scripted(plugin.build.clone(), self.streams),
            None => sides,
        }
    }

    /// Returns the name of its application.
    pub fn app(&self) -> &str {
        self.script.as_ref().map_or(self.application.0.name, |script| &script.name)
    }

    /// Returns the visit to a web server, if its application is one.
    pub(crate) fn visit(&self) -> Option<Visit> {
        visit(&self.application, self.streams)
    }

    /// Returns its ways, its own route first, if it has several or might have.
    pub(crate) fn ways(&self, routing: &Routing<'_>) -> Vec<PlannedWay> {
        (self.transport.pack().ways)(routing, self)
    }

    /// Returns the class of its size, if a size was given.
    pub(crate) fn size_class(&self) -> Option<&'static str> {
        let size = self.sides().source()?.size()? as f64;
        SIZE_CLASSES.iter().find(|(most, _)| size <= *most).map(|(_, name)| *name)
    }
}

/// Returns the number of hosts that are guests.
pub(crate) fn guests(routing: &Routing<'_>, flows: &[FlowSpec]) -> usize {
    let ends = flows.iter().flat_map(|flow| flow.transport.stacks.into_iter().zip([&flow.client, &flow.server]));
    let guests = ends.filter(|(stack, _)| stack.is_guest());
    let host = |address: &String| routing.address(address).expect("an end was checked when its flow was read").0;
    guests.map(|(_, address)| host(address)).collect::<BTreeSet<_>>().len()
}
