"""How Sphinx builds the documentation: Markdown pages, and the API from docstrings."""

import functools
import importlib.metadata
import tempfile

import numpydoc.docscrape_sphinx
from jinja2 import FileSystemBytecodeCache
from jinja2.sandbox import SandboxedEnvironment

project = "daskdl"
author = "The daskdl developers"
copyright = "The daskdl developers"
release = importlib.metadata.version("daskdl")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = f"daskdl {release}"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_use_type_comments = False
# Packages that are optional for a user are optional for the documentation, too.
autodoc_mock_imports = ["cupy", "hdfs_native", "pyspark", "requests"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Numpydoc reads its template again for each docstring; compiling it each time would
# take a third of the build.
compiled_templates = tempfile.TemporaryDirectory()
numpydoc.docscrape_sphinx.SandboxedEnvironment = functools.partial(
    SandboxedEnvironment,
    bytecode_cache=FileSystemBytecodeCache(compiled_templates.name),
)
