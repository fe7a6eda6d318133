"""Configuration of the documentation site (Sphinx): `make site` builds it, `docs/site/check.py` checks it.

The documents stay where they are: the root of the sources is that of the repository, so that links between documents
hold on the site as they do in a code host's view of the files. Nothing is fetched, and no page asks for anything
that is not beside it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
# Cells of notebooks run in a process of their own, which must find the package and know that nobody sits at a terminal.
os.environ.setdefault("POLARS_TABLE_WIDTH", "100")

project = "Vazão"
author = "the authors of Vazão"
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "written"]
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md", "tests/python/reference/README.md", "docs/**.md"]
exclude_patterns = ["target", ".venv*", "site", "results", "crates", "python", "fuzz", ".git", "**/__pycache__"]

# A slip in a link or a name is an error (`-W -n`); names of other people's libraries are not looked up, as nothing is
# fetched.
nitpicky = True


# Markdown: anchors of headings are those of code hosts.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Notebooks run whenever they or the engine have changed; a cell that fails, fails the build.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_mime_priority_overrides = [("*", "image/svg+xml", 0), ("*", "text/html", 5)]

# Docstrings are prose with `code` in it.
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "Vazão"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
# A page that is opened as a file may not read other pages, which excerpts would need.
html_show_search_summary = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {"navigation_with_keys": False}
