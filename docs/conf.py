"""How the site is built: ``make docs`` writes it to ``site/``. Nothing is fetched, and a warning is an error."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import fairpot

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))  # _gallery.py

project = "fairpot"
author = "The fairpot developers"
project_copyright = author
release = version = fairpot.__version__
language = "en_GB"
smartquotes_action = "qe"  # quotes and ellipses; two dashes begin an option
toc_object_entries_show_parents = "hide"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["README.md", "gallery/GALLERY_HEADER.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the parameters' own words say it
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "copyfile_regex": r".*\.csv",
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "_gallery.dress"),
    "capture_repr": ("_repr_html_", "__repr__"),
    "matplotlib_animations": False,
    "ignore_repr_types": r"matplotlib\.",
}

html_theme = "pydata_sphinx_theme"
html_title = "fairpot"
html_static_path = ["_static"]
html_extra_path = ["reference/documents.schema.json"]  # at the address that its $id names
html_css_files = ["fairpot.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"fairpot {version}"},
    "github_url": "https://github.com/fairpot/fairpot",
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "evidence/paper/index": []},  # figure beside table
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "evidence/paper/index": []}


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator; its own pages describe that."""
    inherited = name in ("set_output", "get_metadata_routing") or (
        name.startswith("set_") and name.endswith("_request")
    )
    return True if inherited else None


def _show_examples(app: Any, context: Any, lines: list[str]) -> None:
    """Show the examples of a help text as code, and its options, names and patterns as they are typed."""
    shown: list[str] = []
    for line in lines:
        if line.startswith("|   "):
            if not shown[-1].startswith("   "):
                shown += ["", ".. code-block:: console", ""]
            shown.append(f"   $ {line[4:]}")
        else:
            text = line.removeprefix("| ").replace("*", "\\*")
            text = re.sub(r"(?<![\w-])(--?[a-z][\w-]*(?: -(?= ))?|eval \".*\"|`[^`]+`)", _typed, text)
            shown += [""] * bool(shown and shown[-1].startswith("   ") and text) + [text]
    lines[:] = shown


def _typed(word: re.Match[str]) -> str:
    return f"``{word[1].strip('`')}``"


def _keep_columns(app: Any, doctree: nodes.document) -> None:
    """Mark printed tables: they scroll on a narrow screen, where sentences wrap."""
    for block in doctree.findall(nodes.literal_block):
        if re.search(r"\S {3,}\S", block.astext()):
            block["classes"].append("columns")


# What the theme leaves without a name, or with one that is not what it shows, as a screen reader meets it.
_NAMES = {
    '<summary><span class="toctree-toggle"': '<summary aria-label="Pages of this part"><span class="toctree-toggle"',
    'title="Search" aria-label="Search" data-bs': 'title="Search" aria-label="Search Ctrl+K" data-bs',
}


def _name(app: Any, exception: Exception | None) -> None:
    """Name what the theme leaves unnamed, in every page that was written."""
    if exception is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        text = before
        for old, new in _NAMES.items():
            text = text.replace(old, new)
        if text != before:
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Tell Sphinx which members are not ours, how help texts and tables look, and what is to be named."""
    app.connect("build-finished", _name)
    app.connect("autodoc-skip-member", _skip)
    app.connect("doctree-read", _keep_columns)
    app.connect("sphinx-click-process-description", _show_examples)
