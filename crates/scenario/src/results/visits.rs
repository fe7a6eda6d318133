//! Results of visits: all connections of a visit are one row.

use super::account::Account;
use super::columns::combine;
use crate::model::scenario::Scenario;
use crate::world::World;
use std::ops::Range;

impl Scenario {
    /// Returns the flows of each row of results: all connections of a visit together, every other flow alone.
    pub fn rows(&self) -> Vec<Range<usize>> {
        let starts = (0..self.flows.len()).filter(|&flow| self.flows[flow].part == 0);
        let ends = starts.clone().skip(1).chain([self.flows.len()]);
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }
}

/// Returns the account of each flow of a row; of a visit, of the connections that were opened.
pub(crate) fn accounts<'a, P>(
    world: &'a World<P>,
    scenario: &Scenario,
    row: &Range<usize>,
) -> Vec<(usize, Account<'a>)> {
    let visit = world.visit_of(row.start);
    let opened = row.clone().filter(|flow| visit.is_none_or(|visit| visit.is_open(flow - row.start)));
    opened.map(|flow| (flow, Account::of(world, flow, &scenario.flows[flow].sides()))).collect()
}

/// Returns the account of a row as a whole.
pub(crate) fn whole<'a, P>(
    world: &'a World<P>,
    row: &Range<usize>,
    mut parts: Vec<(usize, Account<'a>)>,
) -> Account<'a> {
    let Some(visit) = world.visit_of(row.start) else { return parts.swap_remove(0).1 };
    let mut whole = parts[0].1.clone();
    parts[1..].iter().for_each(|(_, part)| whole.join(part));
    whole.connections = Some(parts.len() as u64);
    whole.app_bytes = visit.delivered();
    (whole.first_byte, whole.last_byte) = (visit.first_byte(), visit.last_byte());
    whole.messages = Some(visit.latency());
    whole.viewing = visit.viewing(world.now);
    whole.completed = (!visit.is_endless()).then(|| visit.is_complete());
    let failures = || parts.iter().find_map(|(_, part)| part.failure.clone());
    whole.failure = if whole.completed == Some(true) { None } else { failures() };
    whole.intact = Some(visit.is_intact() && parts.iter().all(|(_, part)| part.intact == Some(true)));
    whole
}

impl Account<'_> {
    /// Adds another connection of the same visit.
    fn join(&mut self, other: &Account<'_>) {
        self.measure.to_mut().join(&other.measure);
        self.sender.tally.join(&other.sender.tally, combine);
        self.arrivals.join(&other.arrivals, combine);
        self.sender.rtt.to_mut().merge(&other.sender.rtt);
        self.sender.srtt = None;
        self.life = self.life.zip(other.life).map(|(mut life, other)| {
            life.join(&other);
            life
        });
        self.sender.is_over &= other.sender.is_over;
    }
}
