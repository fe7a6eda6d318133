"""Builders of applications and transports: one for each that the engine has, made when it is first used.

Their names and signatures are in `builders.pyi`, for editors and type checkers.
"""

from vazao.scenario.registered import builder


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    return builder(name)
