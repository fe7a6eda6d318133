"""Configuration of the documentation site (Sphinx): `make site` builds it, `docs/site/check.py` checks it.

The documents stay where they are: the root of the sources is that of the repository, so that links between documents
hold on the site as they do in a code host's view of the files. Nothing is fetched, and no page asks for anything
that is not beside it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]
sys.path.append(str(HERE.parent))

# Notebooks start as `startup.py` says, and whatever else a person has set up for theirs stays out.
PROFILE = Path(tempfile.mkdtemp(prefix="vazao-site-"))
atexit.register(shutil.rmtree, PROFILE, ignore_errors=True)
(PROFILE / "profile_default/startup").mkdir(parents=True)
shutil.copy(HERE / "startup.py", PROFILE / "profile_default/startup")
# A kernel warns that anybody on this machine could listen; it says nothing that is not on the site.
(PROFILE / "profile_default/ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(PROFILE)
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(ROOT / "python"), str(ROOT / "tests/python"), os.environ.get("PYTHONPATH")))
)

project = "Vazão"
author = "the authors of Vazão"
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "written"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/README.md",
    "tests/python/reference/README.md",
    "docs/**.md",
]
exclude_patterns = ["target", ".venv*", "site", "results", "crates", "python", "fuzz", ".git", "**/__pycache__"]

# A slip in a link or a name is an error (`-W -n`); names of other people's libraries are not looked up, as nothing is
# fetched.
nitpicky = True


# Markdown: anchors of headings are those of code hosts.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Notebooks run each time; a cell that fails, fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

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
