"""Results directories: manifest, parts, copied inputs, derived outputs; reading, writing and cleaning."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.store import inputs as inputs, parts as parts, readme as readme
    from vazao.store.cleanup import clean as clean
    from vazao.store.directory import MEASUREMENTS as MEASUREMENTS, PLANNED as PLANNED, STUDY as STUDY, Store as Store
    from vazao.store.growth import (
        KEY as KEY,
        differences as differences,
        in_order as in_order,
        left_out as left_out,
        planned_rows as planned_rows,
    )
    from vazao.store.manifest import (
        MANIFEST as MANIFEST,
        check_origin as check_origin,
        check_usable as check_usable,
        read_manifest as read_manifest,
    )
    from vazao.store.output_cache import Product as Product, product as product
    from vazao.store.parts import TABLES as TABLES
    from vazao.store.query_validation import (
        Stage as Stage,
        columns_of as columns_of,
        validate_queries as validate_queries,
    )
    from vazao.store.readme import PAPERS as PAPERS
    from vazao.store.tables import (
        SMALLEST as SMALLEST,
        Outcome as Outcome,
        joined_table as joined_table,
        plain as plain,
        table as table,
    )
    from vazao.store.version import __version__ as __version__, versions as versions
    from vazao.store.writer import Writer as Writer, writing as writing
else:
    __getattr__, __dir__ = lazy.attached(__name__)
