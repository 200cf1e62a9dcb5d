"""How Sphinx builds the site: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs._tools.generate import write_fragments  # noqa: E402
from docs._tools.quoted import quotes  # noqa: E402
from docs._tools.scraper import save_figure  # noqa: E402
from gapdrift import __version__  # noqa: E402

project = "gapdrift"
author = "the gapdrift developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_generated", "_tools", "gallery/*.ipynb", "gallery/*.py", "gallery/*.py.md5", "gallery/*.zip"]
default_role = "code"
smartquotes = False  # sentences and options stand as they are printed and typed
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures are named, not linked
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "substitution"]
myst_heading_anchors = 4
myst_substitutions = {"version": __version__, **quotes(ROOT / "benchmarks" / "results")}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = False
copybutton_prompt_text = r">>> |\.\.\. |\$ |> "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "image_scrapers": (save_figure, "matplotlib"),
    "capture_repr": (),
}

html_theme = "furo"
html_title = f"gapdrift {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#7db8ee", "color-brand-content": "#7db8ee"},
}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False


def setup(app):
    """Write what pages include before they are read."""
    app.connect("builder-inited", lambda app: write_fragments(Path(app.srcdir)))
