"""Quantities with units, as results name them: `"10 Mbps"` is the column `_bps` with the number 1e7."""

import re
from decimal import Decimal, InvalidOperation

_UNITS: dict[str, dict[str, str]] = {
    "bps": {"bps": "1", "kbps": "1e3", "Mbps": "1e6", "Gbps": "1e9", "Tbps": "1e12"}
    | {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9", "Tbit/s": "1e12"},
    "s": {"ns": "1e-9", "us": "1e-6", "µs": "1e-6", "μs": "1e-6", "ms": "1e-3", "s": "1", "min": "60", "h": "3600"},
    "bytes": {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12"}
    | {"KiB": str(2**10), "MiB": str(2**20), "GiB": str(2**30), "TiB": str(2**40)},
    "packets": {"packet": "1", "packets": "1"},
    "bdp": {"bdp": "1"},
}
_SCALES = {unit: (suffix, Decimal(scale)) for suffix, units in _UNITS.items() for unit, scale in units.items()}
_QUANTITY = re.compile(r"\s*([+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ/]+)\s*")


def parse(text: str) -> tuple[str, float] | None:
    """The column suffix (`bps`, `s`, `bytes`, `packets`, `bdp`) and the number in that unit; None if not a quantity.

    Decimal arithmetic, so that `"25 ms"` is the float nearest to 0.025.
    """
    if not (found := _QUANTITY.fullmatch(text)) or found[2] not in _SCALES:
        return None
    suffix, scale = _SCALES[found[2]]
    try:
        return suffix, float(Decimal(found[1].replace("_", "")) * scale)
    except InvalidOperation:
        return None
