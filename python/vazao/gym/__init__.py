"""Environments for reinforcement learning: an agent sets the window or the rate of a flow, step by step (gymnasium).

env = vz.gym.Env("two.toml", step="1 rtt", reward="power", vary={"network.bottleneck.rate": "1 Mbps:100 Mbps"})
observation, info = env.reset(seed=1)
observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
env.result().flows      # the tables of the episode so far, as of any run
"""

from importlib.util import find_spec

if find_spec("gymnasium") is None:
    raise ImportError("vazao.gym needs gymnasium, which is not installed; pip install 'vazao[gym]'", name="gymnasium")

from gymnasium import register

from vazao.gym.actions import (
    Action as Action,
    Multiplier as Multiplier,
    Pace as Pace,
    PaceMultiplier as PaceMultiplier,
    Window as Window,
)
from vazao.gym.agent import Agent as Agent
from vazao.gym.environment import Env as Env, MultiEnv as MultiEnv
from vazao.gym.randomisation import choice as choice, log_uniform as log_uniform, uniform as uniform
from vazao.gym.rewards import (
    REWARDS as REWARDS,
    allegro as allegro,
    aurora as aurora,
    power as power,
    throughput as throughput,
    vivace as vivace,
)
from vazao.gym.step import AURORA as AURORA, Step as Step

register(id="vazao/Flow-v0", entry_point="vazao.gym:Env")
