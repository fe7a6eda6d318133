"""The beginning of each notebook of the site: charts become SVG, and the files that the documents save are there."""

from __future__ import annotations

from pathlib import Path

import altair
import polars

import documents

# A chart as a drawing needs no script of somebody else's server.
altair.renderers.enable("svg")
polars.Config.set_tbl_hide_dataframe_shape(True)
polars.Config.set_tbl_hide_column_data_types(True)
documents.save(Path())
