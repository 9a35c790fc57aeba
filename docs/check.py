"""check.py HTML: checks the built documentation site: every link and anchor leads somewhere, search finds Chinese words, and Chinese
pages are Chinese."""

import html.parser
import json
import pathlib
import re
import sys
import urllib.parse

SITE = pathlib.Path(sys.argv[1]).resolve()


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page, and the text of its article, without the lists of pages around it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.text, self.in_article, self.language, self.names = [], set(), "", False, "", []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.in_article |= tag == "article"
        if tag == "html":
            self.language = dict(attributes).get("lang")
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("placeholder", "aria-label", "title") and value:
                self.names.append(value)

    def handle_endtag(self, tag):
        self.in_article &= tag != "article"

    def handle_data(self, data):
        self.text += data if self.in_article else ""


def check_links(pages):
    """Returns a message for each link to a file or an anchor that is not there; style sheets link by url()."""
    mistakes = []
    links = [(path, link) for path, page in pages.items() for link in page.links]
    links += [(path, link) for path in SITE.rglob("*.css") if path.is_file()
              for link in re.findall(r"url\(['\"]?([^'\")]+)", path.read_text(encoding="utf-8"))]
    for path, link in links:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            continue
        target = path.parent / urllib.parse.unquote(address.path) if address.path else path
        target = pathlib.Path(target).resolve()
        anchor = urllib.parse.unquote(address.fragment)
        if not target.is_file():
            mistakes.append(f"{path.relative_to(SITE)}: a link leads to '{link}', which is not there")
        elif anchor and target in pages and anchor not in pages[target].anchors:
            mistakes.append(f"{path.relative_to(SITE)}: a link leads to '{link}', which has no such heading")
    return mistakes


def check_search(pages):
    """Returns a message for each Chinese page that the index does not list under the pairs of characters of a word in it."""
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\);?", (SITE / "searchindex.js").read_text(encoding="utf-8").strip(), re.S)[1])
    listed = {}
    for terms in (index["terms"], index["titleterms"]):
        for term, numbers in terms.items():
            listed.setdefault(term, set()).update([numbers] if isinstance(numbers, int) else numbers)
    mistakes = []
    for word in ("注意力", "先行词", "消融", "头"):
        pairs = [word[i:i + 2] for i in range(len(word) - 1)] or [word]
        found = {index["docnames"][number] for number in set.intersection(*(listed.get(pair, set()) for pair in pairs))}
        for path in pages:
            name = path.relative_to(SITE).with_suffix("").as_posix()
            if ".zh-CN" in name and word in pages[path].text and name not in found:
                mistakes.append(f"searchindex.js: search for {word} does not find {name}")
    return mistakes


def check_chinese(pages):
    """Returns a message for each tutorial and step without a Chinese page, and for each Chinese page whose surroundings are not Chinese."""
    mistakes = []
    for path, page in pages.items():
        name = path.relative_to(SITE).with_suffix("").as_posix()
        if ".zh-CN" in name:
            if page.language != "zh-CN" or "搜索" not in page.names:
                mistakes.append(f"{name}: expected the language zh-CN and its search field, got {page.language} and {page.names}")
            mistakes += [f"{name}: '{text}' is not in Chinese" for text in {*page.names} if not re.search("[\u4e00-\u9fff]", text)]
        elif re.match("docs/tutorial/(?!index)|learn/|docs/index$|docs/explanation/glossary", name) and path.with_name(path.stem + ".zh-CN.html") not in pages:
            mistakes.append(f"{name}: has no page in Chinese")
    return mistakes


def main():
    pages = {path: Page(path) for path in SITE.rglob("*.html")}
    mistakes = check_links(pages) + check_search(pages) + check_chinese(pages)
    print(*mistakes, f"{len(pages)} pages, {len(mistakes)} mistakes", sep="\n")
    sys.exit(1 if mistakes or not pages else 0)


if __name__ == "__main__":
    main()
