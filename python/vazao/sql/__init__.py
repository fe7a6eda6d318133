"""SQL over stored rows in a sealed process: the database, its functions, and the checks of a query."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.sql import database as database
    from vazao.sql.enclosure import Enclosure as Enclosure, Limits as Limits
else:
    __getattr__, __dir__ = lazy.attached(__name__)
