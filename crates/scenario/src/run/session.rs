//! Run that goes on in steps, and whose congestion controls an agent steers meanwhile.

use super::build::{Planned, build};
use super::{add_guests, guarded, hex};
use crate::model::scenario::{FlowSpec, Scenario};
use crate::model::stack::{Mechanism, Stack};
use crate::packs::TRANSPORTS;
use crate::packs::library::Libraries;
use crate::results::collect::{Outcome, collect};
use crate::stacks::STACKS;
use crate::world::probe::Silent;
use crate::world::{End, Stopped, World};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;
use vazao_congestion::{Seen, Steering};
use vazao_engine::{Duration, Rate, Time};

/// Run in steps: advanced to a time, looked at, steered, and advanced again.
///
/// Its result depends on the scenario and on what was set when, and not on the length of the steps. If nothing is set, it is
/// that of [`run`](crate::run()).
pub struct Session {
    scenario: Scenario,
    world: World<Silent>,
    /// Digest of the actions so far, if there were any.
    actions: Option<Sha256>,
}

/// View of a flow whose congestion control is steered. Counts are totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// What its acknowledgements told.
    pub seen: Seen,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Rate at which its data leaves, if one is set.
    pub pacing_rate: Option<Rate>,
    /// Payload bytes of a full packet.
    pub mss: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes of the stream sent at least once.
    pub sent: u64,
    /// Bytes sent and not cumulatively acknowledged.
    pub flight: u64,
    /// Round-trip propagation delay of its route.
    pub base_rtt: Duration,
    /// Whether it is over.
    pub is_over: bool,
}

impl Session {
    /// Builds the world of a scenario.
    ///
    /// # Errors
    /// Somebody else plays a part of it (a guest, a library, another simulator), or nothing ends it.
    pub fn new(scenario: Scenario) -> Result<Session, Stopped> {
        for (number, FlowSpec { transport, .. }) in scenario.flows.iter().enumerate() {
            let foreign = transport.stacks.iter().find(|stack| stack.mechanism != Mechanism::Machine);
            if let Some(Stack { player, .. }) = foreign {
                let usual = STACKS[0].name;
                let problem =
                    format!("flow {number}: {player} plays it, which cannot be stepped; write stack = {usual:?}");
                return Err(Stopped::NotRun(problem));
            }
        }
        let planned = Planned::new(&scenario, false).map_err(Stopped::NotRun)?;
        let libraries = Libraries::new(&scenario, None, false).map_err(Stopped::NotRun)?;
        let mut world = build(&scenario, &planned, libraries, Silent, false);
        add_guests(&mut world, &planned, None, &AtomicBool::new(false))?;
        world.end = scenario.until.unwrap_or(Time::NEVER);
        Ok(Session { scenario, world, actions: None })
    }

    /// Current time of the run.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// Returns whether every flow is over, or waits for something that will never come.
    pub fn is_over(&self) -> bool {
        self.world.open == 0 || self.world.end == Time::NEVER && self.world.is_still()
    }

    /// Returns whether the run has reached its end.
    pub fn is_at_end(&self) -> bool {
        self.world.now >= self.world.end
    }

    /// Advances to `time`, or to the end of the run, through `most` events at most. Returns whether it is there. A panic
    /// goes on its way as [`Unwound`](super::Unwound).
    pub fn advance(&mut self, time: Time, most: u64) -> bool {
        let pause = time.min(self.world.end);
        self.guarded(|world| world.step(pause, most))
    }

    /// Advances until the connection of one of the flows stands, or to the end of the run, through `most` events at most.
    /// Returns whether it is there. Before there is a connection there is nothing to steer.
    pub fn open(&mut self, flows: &[usize], most: u64) -> bool {
        let ends: Vec<usize> = flows.iter().filter_map(|&flow| self.sender(flow)).collect();
        self.guarded(|world| {
            let last = world.events.saturating_add(most);
            while !ends.iter().any(|&end| world.ends[end].machine.ready().is_some()) && world.events < last {
                if world.step(world.end, 1) {
                    return true;
                }
            }
            world.events < last
        })
    }

    fn guarded<T>(&mut self, act: impl FnOnce(&mut World<Silent>) -> T) -> T {
        guarded(&mut self.world, &self.scenario, act)
    }

    /// Returns the end that sends the data of a flow.
    fn sender(&self, flow: usize) -> Option<usize> {
        match self.world.flows.get(flow)?.sender() {
            End::Machine(end) => Some(end as usize),
            End::Guest(_) => None,
        }
    }

    /// Returns the reason for which a flow cannot be steered, if there is one.
    pub fn refusal(&mut self, flow: usize) -> Option<String> {
        let Some(transport) = self.scenario.flows.get(flow).map(|spec| spec.transport.clone()) else {
            let last = self.scenario.flows.len().saturating_sub(1);
            return Some(format!("there is no flow {flow}; flows are 0 to {last}"));
        };
        if self.scenario.flows[flow].visit().is_some() {
            return Some(format!("flow {flow}: is one of a page's connections; an agent steers a flow of one"));
        }
        let mut is_steered = false;
        if let Some(end) = self.sender(flow) {
            self.world.ends[end].machine.steer(&mut |_| is_steered = true);
        }
        if !is_steered {
            let steerable: Vec<_> =
                TRANSPORTS.iter().filter(|entry| entry.build.is_steerable).map(|entry| entry.name).collect();
            let (name, steerable) = (transport.entry.name, steerable.join(", "));
            return Some(format!("flow {flow}: nothing of {name} can be steered; agents are for {steerable}"));
        }
        let several = "has several paths, of which each has a window; an agent steers one";
        transport.is_multipath().then(|| format!("flow {flow}: {several}"))
    }

    /// Returns what is to be seen of a steered flow; `None` where nothing steers it.
    pub fn view(&mut self, flow: usize) -> Option<View> {
        let end = self.sender(flow)?;
        let machine = &mut self.world.ends[end].machine;
        let mut view = None;
        machine.steer(&mut |steering| {
            let Steering { cwnd, pacing_rate, mss, seen } = *steering;
            view = Some(View { seen, cwnd, pacing_rate, mss, ..View::default() });
        });
        let mut view = view?;
        machine.with_state(&mut |sender| {
            let sent = sender.sent();
            (view.packets, view.sent, view.flight) = (sent.segments, sent.bytes, sent.flight);
        });
        view.is_over = self.world.flows[flow].ended;
        view.base_rtt = self.scenario.flows[flow].routes.base_rtt(&self.scenario.graph);
        Some(view)
    }

    /// Sets the window of a flow in bytes, and its pacing rate; what may leave by them leaves now. Nothing happens while
    /// there is no connection.
    pub fn steer(&mut self, flow: usize, cwnd: u64, pacing_rate: Option<Rate>) {
        let Some(end) = self.sender(flow) else { return };
        let machine = &mut self.world.ends[end].machine;
        if machine.ready().is_none() || self.world.flows[flow].ended {
            return;
        }
        let mut is_changed = false;
        machine.steer(&mut |steering| {
            let cwnd = cwnd.max(steering.mss);
            is_changed = (steering.cwnd, steering.pacing_rate) != (cwnd, pacing_rate);
            (steering.cwnd, steering.pacing_rate) = (cwnd, pacing_rate);
        });
        if !is_changed {
            return;
        }
        let digest = self.actions.get_or_insert_default();
        for number in [self.world.now.as_nanos(), flow as u64, cwnd, pacing_rate.map_or(0, Rate::as_bps)] {
            digest.update(number.to_le_bytes());
        }
        self.guarded(|world| world.service(end));
    }

    /// Digest of all actions, which makes the run another than that of the scenario alone; `None` if nothing was changed.
    pub fn actions(&self) -> Option<String> {
        let digest = self.actions.clone()?.finalize();
        Some(hex(&digest[..16]))
    }

    /// Collects the tables of the run so far under an identity.
    pub fn outcome(&mut self, id: &str) -> Outcome {
        collect(id, &self.scenario, &mut self.world, &[])
    }
}
