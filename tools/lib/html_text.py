#!/usr/bin/env python3
"""html_text.py FILE...: prints the text of HTML pages one after another: one line for each paragraph, an empty line between pages.
Preformatted text keeps its lines. Omits scripts, styles and navigation (nav, header, footer, classes with nav in their name)."""
import html.parser
import sys

BLOCKS = {"p", "div", "li", "dt", "dd", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "br", "hr", "table", "ul", "ol"}
DROPPED = {"script", "style", "nav", "header", "footer", "head"}
VOID = {"br", "hr", "img", "meta", "link", "input", "col", "area", "base"}


class Text(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.lines, self.line, self.pre = [], "", 0
        self.dropping = []  # open elements inside a dropped one, which is first

    def handle_starttag(self, tag, attributes):
        classes = dict(attributes).get("class") or ""
        if tag not in VOID and (self.dropping or tag in DROPPED or "nav" in classes):
            self.dropping.append(tag)
        if tag in BLOCKS:
            self.end_line()
        self.pre += tag == "pre"

    def handle_endtag(self, tag):
        if tag in self.dropping:  # also closes elements left open inside
            del self.dropping[len(self.dropping) - 1 - self.dropping[::-1].index(tag):]
        if tag in BLOCKS:
            self.end_line()
        self.pre -= tag == "pre" and self.pre > 0

    def handle_data(self, data):
        if self.dropping:
            return
        if self.pre:
            first, *others = data.split("\n")
            self.line += first
            for line in others:
                self.end_line()
                self.line = line
        else:
            self.line += data.replace("\n", " ")

    def end_line(self):
        line = self.line.rstrip() if self.pre else " ".join(self.line.split())
        if line:
            self.lines.append(line)
        self.line = ""


def text_of(path):
    parser = Text()
    with open(path, encoding="utf-8", errors="replace") as page:
        parser.feed(page.read())
    parser.close()
    parser.end_line()
    return "\n".join(parser.lines)


for page in sys.argv[1:]:
    print(text_of(page), end="\n\n")
