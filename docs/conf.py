"""Configuration of the documentation site; cmake/docs.cmake runs Sphinx with it."""

import os

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


def setup(app):
    """Shows the declarations of a header without a frame for their namespace, which each page would declare again."""
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
