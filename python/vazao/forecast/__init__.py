"""Forecasts of how long runs take, from the speed of this machine and from pieces of sampled runs."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.forecast.extrapolation import forecast_run as forecast_run, forecast_runs as forecast_runs
    from vazao.forecast.pace import Pace as Pace
else:
    __getattr__, __dir__ = lazy.attached(__name__)
