//! Ends of flows as they are made: what several of them share is made once.

use super::address::Addresses;
use super::scenario::{Making, Scenario, TransportSpec};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_network::Routing;

impl<'a> Making<'a> {
    pub fn new(scenario: &'a Scenario, routing: &'a Routing<'a>, addresses: &'a Addresses, logs: bool) -> Making<'a> {
        Making { scenario, routing, addresses, logs, shared: [None, None], by_hosts: BTreeMap::new() }
    }

    /// Returns the settings of a transport, shared with the previous flow if both were described together: 10 000
    /// copies would be most of a run's memory.
    pub fn settings<C: Any + Send + Sync>(&mut self, spec: &Arc<TransportSpec>, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.shared.iter().flatten().find(|(known, _)| *known == Arc::as_ptr(spec));
        if let Some(config) = known.and_then(|(_, config)| config.clone().downcast::<C>().ok()) {
            return config;
        }
        let config = Arc::new(make());
        self.shared.rotate_right(1);
        self.shared[0] = Some((Arc::as_ptr(spec), config.clone()));
        config
    }

    /// Returns the state that all flows between two hosts share.
    pub fn between<C: Any + Send + Sync>(&mut self, hosts: String, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.by_hosts.entry(hosts).or_insert_with(|| Arc::new(make()));
        known.clone().downcast().expect("one protocol shares one thing")
    }
}
