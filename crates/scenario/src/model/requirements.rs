//! What a scenario requires of a machine beside this engine.

use super::scenario::{FlowSpec, Scenario, TransportSpec};
use std::collections::BTreeMap;

/// Programs by name, each with the SHA-256 of its executable; without one where it is not installed.
pub type Installed = BTreeMap<String, Option<String>>;

impl Scenario {
    /// Returns the kernels that its guests boot.
    pub fn kernels(&self) -> Installed {
        let guests =
            self.transports().filter(|transport| transport.has_guest()).map(|transport| &transport.guest.kernel);
        guests.map(|(name, kernel)| (name.clone(), kernel.as_ref().map(|kernel| kernel.digest.clone()))).collect()
    }

    /// Returns the simulators that run it in place of this engine.
    pub fn simulators(&self) -> Installed {
        let foreign = self.transports().filter(|transport| transport.has_simulator());
        foreign
            .map(|transport| {
                let digest = transport.guest.simulator.as_ref().map(|simulator| simulator.digest.clone());
                (transport.sender.name.to_owned(), digest)
            })
            .collect()
    }

    /// Returns the commands that run in its guests, each once, a server's before its client's.
    pub fn programs(&self) -> Vec<String> {
        let mut programs = Vec::new();
        for sides in self.described().map(FlowSpec::sides) {
            for program in sides.programs().into_iter().flat_map(|[client, server]| [server, client]) {
                if !programs.iter().any(|known| known == program) {
                    programs.push(program.to_owned());
                }
            }
        }
        programs
    }

    /// Returns whether algorithms of the user's own take part in it, or content is altered on the way.
    pub(crate) fn has_own_code(&self) -> bool {
        let directions = self.graph.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let mut links =
            directions.map(|way| way.own_loss.is_some() || way.own_queue.is_some() || way.impairments.middlebox != 0);
        let flows = |flow: &FlowSpec| {
            let transport = &flow.transport;
            transport.control.plugin.is_some()
                || transport.slow_start.plugin.is_some()
                || transport.multipath.as_ref().is_some_and(|spec| spec.scheduler.plugin.is_some())
                || flow.script.is_some()
        };
        links.any(|own| own) || self.described().any(flows)
    }

    fn transports(&self) -> impl Iterator<Item = &TransportSpec> {
        self.described().map(|flow| &*flow.transport)
    }

    /// Returns the first flow of each table; the others share its application and transport.
    fn described(&self) -> impl Iterator<Item = &FlowSpec> {
        self.flows.chunk_by(|a, b| a.group == b.group).map(|flows| &flows[0])
    }
}
