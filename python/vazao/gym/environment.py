"""Environments: episodes of a world, with gymnasium's interface for one agent, with dictionaries for several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from threading import get_ident
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Space
from numpy.typing import NDArray

from vazao import _core, units
from vazao.errors import RunError, ScenarioError
from vazao.gym.actions import Action, action_of
from vazao.gym.rewards import Reward, reward_of
from vazao.gym.step import AURORA, Observer, Step
from vazao.gym.world import Described, World
from vazao.results import Result
from vazao.scenario import Flow

Observed = NDArray[np.float32]
"""Observation of an agent: a vector of the observed numbers of each step in the history."""

_ROUND_TRIPS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*rtt\s*")


def _length(text: str) -> tuple[float, bool]:
    """Parse the length of a step: seconds and False, or round trips and True. Raises `ScenarioError`."""
    if found := _ROUND_TRIPS.fullmatch(text):
        length, is_rounds = float(found[1]), True
    else:
        unit, length = units.parse(text) or ("", 0.0)
        is_rounds = False
        length = length if unit == "s" else 0.0
    if not 1e-6 <= length <= 1e6:
        raise ScenarioError(f"step: {text!r}; write a time from 1 us to 1e6 s, as in '10 ms', or round trips, '1 rtt'")
    return length, is_rounds


class _Episodes:
    """Episodes of a world: the current run, and steps of it for each agent."""

    def __init__(self, world: World, tables: Sequence[int], step: str) -> None:
        self._world, self._tables = world, list(tables)
        self._length, self._in_rtts = _length(step)
        self._session: _core.Session | None = None
        self._thread = 0
        self.done = True

    def begin(
        self, random: np.random.Generator, options: Mapping[str, Any] | None
    ) -> tuple[list[Step], dict[str, Any]]:
        """Begin an episode; returns the step of each agent, and the values that were drawn."""
        scenario, drawn = self._world.draw(random, options or {})
        self._session, self._thread = _core.Session(scenario, self._tables), get_ident()
        self.done = False
        return [Step._make(row) for row in self._session.look()], {"seed": scenario.seed, "vary": drawn}

    @property
    def session(self) -> _core.Session:
        """The current run. Raises `ResetNeeded`, or `RunError` in a thread other than that which began the episode."""
        if self._session is None:
            raise ResetNeeded("there is no episode yet; call reset() first")
        if get_ident() != self._thread:
            raise RunError("an episode belongs to the thread that began it; call reset() in this one")
        return self._session

    def advance(self, actions: list[tuple[float, float]]) -> tuple[list[Step], list[bool], bool]:
        """Advance by a step; returns the step of each agent, whether its flow is over, and whether time is up."""
        session = self.session
        if self.done:
            raise ResetNeeded("the episode is over; call reset() for another")
        rows, over, ended = session.step(actions, self._length, self._in_rtts)
        self.done = ended or all(over)
        return [Step._make(row) for row in rows], over, ended

    def result(self) -> Result:
        """The tables of the episode so far."""
        return Result(*self.session.result())

    def close(self) -> None:
        """Discard the run."""
        self._session, self.done = None, True


class Env(gymnasium.Env[Observed, Any]):
    """An environment of one agent, which steers one flow of a scenario.

    `world` is a network with `flows`, a TOML file, the name of a built-in scenario, or the result of `vz.load`; the
    default is an upload over 10 Mbit/s with a round trip of 40 ms. `agent` is the number of the flow whose congestion
    control the agent replaces (TCP, QUIC or DCCP). A `step` is a time (`"10 ms"`) or a number of smoothed round-trip
    times (`"1 rtt"`). An episode terminates with the flow, and is truncated at `until`.

    `observe` names fields of `Step`, or maps each to a scale that it is divided by; an observation holds the last
    `history` steps. `reward` is a name of `REWARDS` or a function of a `Step`; `action` a name ("multiplier", "window",
    "pace", "pace-multiplier") or an `Action`. `vary` maps keys of the scenario to values to draw for each episode:
    `"1 Mbps:50 Mbps"`, a list, `log_uniform(…)`, or a function of a `numpy.random.Generator`. Each episode has its own
    seed, and begins when the connection is established; the same `reset(seed=…)` and actions give the same
    observations. Raises `ScenarioError`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        world: Described = None,
        flows: Sequence[Flow] | None = None,
        *,
        agent: int = 0,
        step: str = "1 rtt",
        until: str | None = None,
        observe: Sequence[str] | Mapping[str, float] = AURORA,
        history: int = 10,
        reward: str | Reward = "aurora",
        action: str | Action = "multiplier",
        vary: Mapping[str, Any] | None = None,
        allow_programs: bool = False,
    ) -> None:
        self._observer = Observer(observe, history)
        self._reward = reward_of(reward)
        self._action = action_of(action)
        self.observation_space: Space[Observed] = self._observer.space
        self.action_space = self._action.space
        made = World(world, flows, [agent], until=until, vary=vary, allow_programs=allow_programs)
        self._episodes = _Episodes(made, [agent], step)
        self._last: Step | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin an episode. Options may fix the scenario's `seed` and `set` keys: `{"seed": 1, "set": {…}}`."""
        super().reset(seed=seed)
        steps, info = self._episodes.begin(self.np_random, options)
        if len(steps) != 1:
            raise ScenarioError(f"agent: its table makes {len(steps)} flows; use MultiEnv, or a table of one flow")
        self._last = steps[0]
        return self._observer.first(steps[0]), {"step": steps[0], **info}

    def step(self, action: Any) -> tuple[Observed, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act and advance by a step; `info["step"]` has all its numbers."""
        if self._last is None:
            raise ResetNeeded("there is no episode yet; call reset() first")
        (step,), (over,), ended = self._episodes.advance([self._action.apply(action, self._last)])
        self._last = step
        return self._observer.next(step), float(self._reward(step)), over, ended and not over, {"step": step}

    def result(self) -> Result:
        """The tables of the episode so far, as of any run; their `run_id` covers the actions."""
        return self._episodes.result()

    def close(self) -> None:
        """End the episode."""
        self._episodes.close()
        self._last = None


class MultiEnv:
    """An environment of several agents, each of which steers a flow, with dictionaries by agent.

    It has the methods and attributes of a parallel environment of PettingZoo. `agents` are numbers of `[[flow]]`
    tables; each flow that they create is an agent, called `flow_0`, `flow_1` and so on by its number. Observations,
    actions and rewards are of the same kind for all. An agent is removed once its flow is over, and its actions have no
    effect before its flow is connected. Steps in round trips use the longest one among the agents. Everything else is
    as in `Env`.
    """

    metadata: dict[str, Any] = {"name": "vazao", "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        world: Described = None,
        flows: Sequence[Flow] | None = None,
        *,
        agents: Sequence[int] = (0,),
        step: str = "1 rtt",
        until: str | None = None,
        observe: Sequence[str] | Mapping[str, float] = AURORA,
        history: int = 10,
        reward: str | Reward = "aurora",
        action: str | Action = "multiplier",
        vary: Mapping[str, Any] | None = None,
        allow_programs: bool = False,
    ) -> None:
        if not agents:
            raise ScenarioError("agents: there are none; give numbers of flows, as in agents=[0, 1]")
        made = World(world, flows, agents, until=until, vary=vary, allow_programs=allow_programs)
        self._episodes = _Episodes(made, agents, step)
        self._action, self._reward = action_of(action), reward_of(reward)
        # A first episode shows which flows there are.
        self._episodes.begin(np.random.default_rng(1), None)
        self._flows = self._episodes.session.flows
        self._episodes.close()
        self.possible_agents = [f"flow_{flow}" for flow in self._flows]
        self.agents: list[str] = []
        self._observers = {name: Observer(observe, history) for name in self.possible_agents}
        self._last: dict[str, Step] = {}
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> Space[Observed]:
        """Observation space of an agent."""
        return self._observers[agent].space

    def action_space(self, agent: str) -> Space[Any]:  # noqa: ARG002
        """Action space of an agent, which all agents share."""
        return self._action.space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observed], dict[str, dict[str, Any]]]:
        """Begin an episode, as `Env.reset` does."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        steps, info = self._episodes.begin(self._random, options)
        if self._episodes.session.flows != self._flows:
            raise ScenarioError(
                f"agents: make {len(steps)} flows and made {len(self._flows)}; their number cannot vary"
            )
        self.agents = list(self.possible_agents)
        self._last = dict(zip(self.agents, steps, strict=True))
        seen = {name: self._observers[name].first(step) for name, step in self._last.items()}
        return seen, {name: {"step": step, **info} for name, step in self._last.items()}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Observed], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Let every agent act, and advance by a step: observations, rewards, terminations, truncations, infos."""
        if missing := [name for name in self.agents if name not in actions]:
            raise ScenarioError(f"actions: there is none of {missing[0]!r}; give one for each of {self.agents}")
        settings = [self._setting(name, actions) for name in self.possible_agents]
        steps, over, ended = self._episodes.advance(settings)
        acted = self.agents
        now = dict(zip(self.possible_agents, zip(steps, over, strict=True), strict=True))
        self._last = {name: step for name, (step, _) in now.items()}
        terminated = {name: now[name][1] for name in acted}
        truncated = {name: ended and not terminated[name] for name in acted}
        self.agents = [name for name in acted if not (terminated[name] or truncated[name])]
        return (
            {name: self._observers[name].next(self._last[name]) for name in acted},
            {name: float(self._reward(self._last[name])) for name in acted},
            terminated,
            truncated,
            {name: {"step": self._last[name]} for name in acted},
        )

    def _setting(self, name: str, actions: Mapping[str, Any]) -> tuple[float, float]:
        """The window and rate that an agent sets; unchanged once its flow is over."""
        last = self._last.get(name)
        if last is None:
            raise ResetNeeded("there is no episode yet; call reset() first")
        return self._action.apply(actions[name], last) if name in self.agents else (last.cwnd_bytes, last.pacing_bps)

    def result(self) -> Result:
        """The tables of the episode so far, as of any run; their `run_id` covers the actions."""
        return self._episodes.result()

    def close(self) -> None:
        """End the episode."""
        self._episodes.close()
        self.agents, self._last = [], {}
