"""What the tests of the page share: pages in a browser, and that none of them asks for anything or complains."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import ROUND_HALF_UP, Decimal

from browser import Browser

CHROMIUM = os.environ.get("TROUPE_CHROMIUM", "")
PRINT_PAGE = os.environ.get("TROUPE_PRINT_PAGE", "")
PROGRAM = os.environ.get("TROUPE_PROGRAM", "")


def main():
    if not CHROMIUM or CHROMIUM.endswith("NOTFOUND"):
        print("skipped: chromium is not installed (tools/bootstrap does it)")
        sys.exit(77)
    unittest.main()


def live_page():
    return subprocess.run([PRINT_PAGE, "live"], capture_output=True, check=True).stdout


def standalone_page(document):
    text = json.dumps(document).encode()
    return subprocess.run([PRINT_PAGE, "standalone"], input=text, capture_output=True, check=True).stdout


def percent(ratio):
    """As the page writes it: JavaScript rounds what lies in the middle up, Python to the even digit."""
    return f"{Decimal(100 * ratio).quantize(Decimal('0.1'), ROUND_HALF_UP)}%"


class PageTest(unittest.TestCase):
    """Each test has tabs of its own in the file's one browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(CHROMIUM)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-page-"))
        cls.made = 0

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.pages = []

    def tearDown(self):
        for page in self.pages:
            self.assertEqual(page.problems, [], "what the browser complained of")
            page.close()

    def tab(self, **looks):
        page = self.browser.page(**looks)
        self.pages.append(page)
        return page

    def standalone(self, document, **looks):
        """A standalone page of the document, drawn."""
        cls = type(self)
        cls.made += 1
        file = self.folder / f"{cls.made}.html"
        file.write_bytes(standalone_page(document))
        page = self.tab(**looks).open(file.as_uri())
        page.wait("document.body.dataset.drawn > 0")
        self.browser.listen(0.1)  # charts follow the size of their cards
        self.assertEqual(page.requests, [file.as_uri()], "a standalone page asks for nothing else")
        return page


def text_of(page, selector):
    """What it says, as people read it: spaces as they are seen."""
    return page.run(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '(not there)').replace(/\\s+/g, ' ').trim()")


def section(title):
    """The expression of a section's element, by its title."""
    return f"[...document.querySelectorAll('section.card')].find(card => card.querySelector('h3').textContent === {json.dumps(title)} && !card.hidden)"


def text_in(page, title):
    return page.run(f"({section(title)}?.innerText ?? '(not there)').replace(/\\s+/g, ' ').trim()")


def rows_of(page, label):
    """The cells of a table, by its label."""
    return page.run(f"[...document.querySelectorAll('[aria-label={json.dumps(label)}] tbody tr')].map(row => [...row.children].map(cell => cell.innerText.replace(/\\s+/g, ' ').trim()))")
