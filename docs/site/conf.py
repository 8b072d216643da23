"""conf.py: how Sphinx makes the site. scripts/docs.sh lays the tree out for it in build/docs-parts."""

import re
import sys
from pathlib import Path

from sphinx.addnodes import pending_xref

here = Path(__file__).resolve().parent
root = here.parents[1]
parts = root / "build/docs-parts"
sys.path.insert(0, str(root / "build/release/python"))

project = "unibuf"
copyright = "the authors of unibuf, Apache-2.0"
extensions = [
    "myst_parser",
    "breathe",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_fortran_domain",
    "sphinx_copybutton",
]
default_role = "code"
exclude_patterns = ["docs/site"]
include_patterns = [
    "index.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "docs/**",
    "reference/**",
    "examples/README.md",
    "examples/*/README.md",
]

# Pages are the documents of the tree, as a git host shows them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

breathe_projects = {"unibuf": str(parts / "doxygen")}
breathe_default_project = "unibuf"
breathe_domain_by_extension = {"h": "c"}
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False
breathe_show_define_initializer = True
breathe_show_enumvalue_initializer = True

fortran_sources = [str(parts / "fortran")]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["mpi4py", "distributed"]

toc_object_entries_show_parents = "hide"
html_theme = "furo"
html_title = "unibuf"
html_static_path = [str(here / "static")]
html_css_files = ["site.css"]
html_search_scorer = str(here / "static/scorer.js")
html_copy_source = False
html_show_sphinx = False
html_js_files = ["search.js"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"
maximum_signature_line_length = 80

LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+)(#[\w-]+)?\)")


def links_of_a_git_host(app, document, source):
    """A git host shows a folder, where the site has the README in it, if there is one. The first is the front page."""
    here = (Path(app.srcdir) / document).parent

    def shown(link):
        words, target, place = link[1], link[2], link[3] or ""
        if (here / target).is_dir():
            return f"[{words}]({target}/README.md)" if (here / target / "README.md").exists() else words
        if (here / target).resolve() == Path(app.srcdir) / "README.md":
            return f"[{words}]({target.removesuffix('README.md')}index.md{place})"
        return link[0]

    source[0] = LINK.sub(shown, source[0])


def pages_that_are_there(app, document, source):
    """The list of pages has patterns of which some match nothing; Sphinx would warn of those."""
    if document == "index":
        pattern = re.compile(r"^[\w/]+\*\n", re.MULTILINE)
        source[0] = pattern.sub(
            lambda line: line[0] if [*Path(app.srcdir).glob(f"{line[0].strip()}.md")] else "", source[0]
        )


def no_standard_names(app, tree):
    """Takes the links off names of the standard library, which lead nowhere: to find that out takes Sphinx minutes."""
    for link in list(tree.findall(pending_xref)):
        if link.get("refdomain") == "cpp" and link.get("reftarget", "").startswith("std"):
            link.replace_self(link.children)


def write_colons_of_attributes(old, new):
    """Hides colons from Napoleon, or shows them again: it takes what stands before one for a type."""

    def rewrite(app, what, name, value, options, lines):
        if what in ("attribute", "data", "property"):
            lines[:] = [line.replace(old, new) for line in lines]

    return rewrite


def setup(app):
    app.connect("source-read", links_of_a_git_host)
    app.connect("source-read", pages_that_are_there)
    app.connect("doctree-read", no_standard_names)
    app.connect("autodoc-process-docstring", write_colons_of_attributes(":", "\0"), priority=400)
    app.connect("autodoc-process-docstring", write_colons_of_attributes("\0", ":"), priority=600)
