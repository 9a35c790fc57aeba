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
html_js_files = ["chinese.js"]
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


# The theme's texts, for pages in Chinese.
CHINESE = {
    "Search": "搜索", "Index": "索引", "Home": "首页", "Next": "下一页", "Previous": "上一页", "On this page": "本页内容", "Back to top": "回到顶部",
    "Contents": "目录", "Copyright": "版权所有", "Made with ": "主题：", "Menu": "菜单", "Expand": "展开",
    "Light mode": "浅色", "Dark mode": "深色", "Auto light/dark mode": "随系统切换浅色与深色",
    "Hide navigation sidebar": "隐藏导航栏", "Hide table of contents sidebar": "隐藏本页目录", "Toggle site navigation sidebar": "显示或隐藏导航栏",
    "Toggle Light / Dark / Auto color theme": "切换浅色、深色或随系统", "Toggle table of contents sidebar": "显示或隐藏本页目录", "Skip to content": "跳到正文",
    "Link to this heading": "这个标题的链接", "Permalink to this heading": "这个标题的链接", "Toggle navigation of": "展开或收起：", "Logo": "标志",
}
CHINESE_INDEX = "docs/index.zh-CN"


def is_chinese(page):
    return page.endswith(".zh-CN")


def join_lines(app, doctree):
    """Removes the line breaks of the source between Chinese characters, which a browser would show as spaces."""
    from docutils import nodes

    if not is_chinese(app.env.docname):
        return
    wide, mark = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”]", r"[\u3000-\u303f\uff00-\uffef]"
    for line_break in [node for node in doctree.findall(nodes.Text) if node == "\n"]:
        at = next(i for i, node in enumerate(line_break.parent) if node is line_break)  # index() finds the first equal one
        before, after = ("".join(node.astext() for node in part) for part in (line_break.parent[:at], line_break.parent[at + 1:]))
        if re.search(mark + "$", before) or re.match(mark, after) or (re.search(wide + "$", before) and re.match(wide, after)):
            line_break.parent[at] = nodes.Text("")


def choose_language(app, pagename, templatename, context, doctree):
    """Shows the theme's texts and the list of pages in the language of the page."""
    from bs4 import BeautifulSoup

    tree = BeautifulSoup(context.get("furo_navigation_tree") or "", "html.parser")
    index = "#" if pagename == CHINESE_INDEX else context["pathto"](CHINESE_INDEX)
    link = next((one for one in tree.find_all("a") if one.get("href") == index), None)
    below = link and link.find_parent("li").find("ul")
    for name in ("next", "prev"):
        if context.get(name) and is_chinese(pagename) != context[name]["link"].endswith(".zh-CN.html"):
            context[name] = None
    if is_chinese(pagename):
        context["language"] = "zh-CN"
        context["_"] = context["gettext"] = lambda text: CHINESE.get(text.strip(), CHINESE.get(text, text))
        if below:
            for item in below.find_all("li"):  # the theme folds what lies below the first level
                item["class"] = [re.sub(r"(?<=^toctree-l)\d", lambda level: str(int(level[0]) - 1), name) for name in item["class"]]
            ends = [(index, "heed 中文文档"), (context["pathto"]("docs/index"), "English")]
            first, last = (f'<li class="toctree-l1"><a class="reference internal" href="{href}">{text}</a></li>' for href, text in ends)
            context["furo_navigation_tree"] = f"<ul>{first}{below.decode_contents()}{last}</ul>"
    elif below:
        for extra in link.find_parent("li").find_all(["ul", "input", "label"]):
            extra.decompose()
        link.find_parent("li")["class"] = ["toctree-l1"]
        context["furo_navigation_tree"] = str(tree)


def translate_theme(app, error):
    """Translates the texts that the theme writes into its templates, in the pages in Chinese."""
    for page in pathlib.Path(app.outdir).rglob("*.zh-CN.html"):
        text = page.read_text(encoding="utf-8")
        for english, chinese in CHINESE.items():
            for before, after in (('<div class="visually-hidden">', "</div>"), ('title="', '"'), ('aria-label="', '"')):
                text = text.replace(before + english + after, before + chinese + after)
        page.write_text(text, encoding="utf-8")


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
    app.connect("doctree-read", join_lines)
    app.connect("html-page-context", choose_language, priority=900)  # after the theme
    app.connect("build-finished", copy_normalize)
    app.connect("build-finished", translate_theme)
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
