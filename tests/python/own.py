"""User-defined classes for tests, and a run over one link."""

from __future__ import annotations

from typing import Any

import vazao as vz


def made(body: str, base: type = vz.CongestionControl, **more: Any) -> type:
    """Class with a single method or attribute."""
    names: dict[str, Any] = {"vz": vz, **more}
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    exec(f"class Own(vz.{base.__name__}):\n{lines}", names)
    own: type = names["Own"]
    return own


LINK = vz.link("10 Mbps", "20 ms", queue="50 packets", loss=0.01)
APP = vz.upload("1 MB")


def run(cc: object = "reno", *, link: vz.Link = LINK, **more: Any) -> vz.Result:
    return vz.run(vz.point_to_point(link), [vz.flow(APP, vz.tcp(cc=cc, **more))], seed=3)  # type: ignore[arg-type]
