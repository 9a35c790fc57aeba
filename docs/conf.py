"""Configuration of the documentation site; cmake/docs.cmake runs Sphinx with it."""

import os
import pathlib
import re
import shutil

from sphinx.search.en import SearchEnglish

project = "heed"
author = "The heed authors"
copyright = "the heed authors"  # noqa: A001
release = os.environ.get("HEED_VERSION", "")

extensions = ["myst_parser", "breathe"]
root_doc = "docs/index"
exclude_patterns = ["examples/**"]  # copied for links to them

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

breathe_projects = {"heed": os.environ.get("HEED_DOXYGEN_XML", "")}
breathe_default_project = "heed"
primary_domain = "cpp"
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_title = f"heed {release}".strip()
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_extra_path = ["extra"]
html_theme_options = {"navigation_with_keys": True}
html_search_language = "en+zh"


class EnglishAndChinese(SearchEnglish):
    """Splits Chinese, which has no spaces, into single characters and pairs; a query is split into pairs where it has them."""

    lang = html_search_language
    language_name = "English and Chinese"
    chinese = r"[\u4e00-\u9fff]"
    js_splitter_code = """
function splitQuery(query) {
  const words = query.split(/[^\\p{Letter}\\p{Number}_]+|(?<=[\\u4e00-\\u9fff])(?![\\u4e00-\\u9fff])|(?<![\\u4e00-\\u9fff])(?=[\\u4e00-\\u9fff])/gu);
  return words.filter((word) => word).flatMap((word) => /^[\\u4e00-\\u9fff]{3,}$/.test(word)
      ? [...word].slice(1).map((character, i) => word[i] + character) : [word]);
}
"""

    def split(self, text):
        words = []
        for word in re.findall(rf"{self.chinese}+|(?:(?!{self.chinese})\w)+", text):
            words += [word[i:i + n] for n in (1, 2) for i in range(len(word) - n + 1)] if re.match(self.chinese, word) else [word]
        return words


def copy_normalize(app, error):
    """Debian's furo imports normalize.css from an address that only Debian's web servers have: copies the file into the site."""
    styles = pathlib.Path(app.outdir) / "_static/styles"
    text = (styles / "furo.css").read_text(encoding="utf-8")
    address = "/javascript/normalize.css/normalize.css"
    if not error and address in text:
        shutil.copyfile("/usr/share" + address, styles / "normalize.css")
        (styles / "furo.css").write_text(text.replace(address, "normalize.css"), encoding="utf-8")


def setup(app):
    """Adds the search, and shows the declarations of a header without a frame for their namespace, which each page would
    declare again."""
    app.add_search_language(EnglishAndChinese)
    app.connect("build-finished", copy_normalize)
    from breathe.renderer.sphinxrenderer import SphinxRenderer, WithContext

    def content_of_namespace(self, node):
        data = self.compound_parser.parse(node.refid)
        data.compounddef.briefdescription = None
        for section in data.compounddef.sectiondef:
            if section.kind == "user-defined":  # functions that share a comment
                section.kind = "func"
        context = self.context.create_child_context(data)
        with WithContext(self, context):
            return self.render(data, context)

    SphinxRenderer.visit_namespace = content_of_namespace
