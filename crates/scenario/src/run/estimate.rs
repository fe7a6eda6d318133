//! Estimate of a run's work.

use crate::model::flow::guests;
use crate::model::scenario::Scenario;
use vazao_engine::Time;
use vazao_network::Routing;

/// Rough estimate of a run's work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Times a packet crosses a link.
    pub hops: f64,
    /// Packets that guests send or receive: each takes a thousand times as long as a hop.
    pub guest_packets: f64,
    /// Number of guests.
    pub guests: usize,
    /// Whether programs run in it, whose work cannot be estimated.
    pub has_programs: bool,
}

/// Packets that open and close a connection.
const AROUND: f64 = 7.0;

/// Estimates the work of a run from the sizes of its flows and the rates of their routes.
pub fn estimate(scenario: &Scenario) -> Work {
    let graph = &scenario.graph;
    let mut offered = vec![0.0; graph.links.len()];
    let mut work = Work { guests: guests(&Routing::new(graph), &scenario.flows), ..Work::default() };
    for flow in &scenario.flows {
        // The first connection of a visit counts for all.
        if flow.part > 0 {
            continue;
        }
        let routes = &flow.routes;
        let sides = flow.sides();
        let visit = flow.visit();
        let (duration, volume) = match &visit {
            Some(visit) => (visit.duration(), visit.volume()),
            None => (sides.duration(), sides.volume()),
        };
        if sides.is_program() {
            work.has_programs = true;
            continue;
        }
        let rate = routes.out.iter().map(|&s| graph.direction(s).rate.as_bps()).min().unwrap_or(0) as f64 / 8.0;
        let left = scenario.until.map_or(f64::INFINITY, |until| until.since(flow.start).as_secs());
        let time = duration.map_or(left, |d| d.as_secs().min(left));
        let bytes = volume.unwrap_or(f64::INFINITY).min(rate * time);
        let (mss, acks) = (flow.transport.pack().load)(&flow.transport.parameters);
        // Flows that share a link cannot all have its rate.
        let narrow = routes.out.iter().min_by_key(|&&s| graph.direction(s).rate).map_or(0, |s| s.0);
        let room = scenario.until.map_or(f64::INFINITY, |until| until.since(Time::ZERO).as_secs() * rate);
        let bytes = bytes.min((room - offered[narrow]).max(0.0));
        offered[narrow] += bytes;
        let packets = bytes / mss * (1.0 + acks) + AROUND;
        let guests: f64 = flow.transport.stacks.iter().map(|stack| stack.effort).sum();
        work.hops += packets * routes.out.len() as f64;
        work.guest_packets += packets * guests;
    }
    work
}
