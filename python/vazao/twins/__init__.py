"""Twins of captured connections: scenarios estimated from a capture, whose runs behave as the connections did."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.twins.estimation import twin as twin
    from vazao.twins.model import UNLIKE as UNLIKE, Twin as Twin, as_json as as_json
    from vazao.twins.page import overlay as overlay
else:
    __getattr__, __dir__ = lazy.attached(__name__)
