"""On a phone, in the dark, in print: nothing is cut off, nothing too small, nothing too faint."""

import documents
from support import PageTest, main, section, standalone_page

DOCUMENTS = {
    "run": documents.run, "waiting": documents.waiting, "comparison": documents.comparison, "runs": documents.compared_runs,
    "follower": documents.follower,
    "failed": lambda: documents.run(status="failed", error="worker 1: no memory left"),
    "stopped": lambda: documents.run(status="stopped", live=False),
    "completed": lambda: documents.run(status="completed", live=False),
}  # fmt: skip

# Texts that are seen, with their size, and the contrast of their colour with what lies behind them (WCAG 2.2).
TEXTS = r"""
(() => {
  const parsed = text => {
    const numbers = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return [...numbers.slice(0, 3).map(number => number * scale), numbers[3] ?? 1];
  };
  const over = (front, back) => [0, 1, 2].map(i => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const light = color => {
    const [r, g, b] = color.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parsed(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255, 1]);
  };
  const opacity = element => element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName) || element.closest('.unseen, .skip, .tip') || !element.getClientRects().length) continue;
    const drawn = element.namespaceURI.endsWith('svg'), onBar = element.classList.contains('on');
    const back = onBar ? parsed(getComputedStyle(element.previousElementSibling).fill) : behind(element);
    const color = parsed(drawn ? style.fill : style.color);
    color[3] *= opacity(element);
    const [a, b] = [light(over(color, back)), light(back)];
    found.push({ text: walker.currentNode.data.trim().slice(0, 40), size: parseFloat(style.fontSize) * (drawn ? element.getScreenCTM().a : 1),
                 contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) });
  }
  return found;
})()
"""


class Looks(PageTest):
    def test_on_a_phone_the_page_does_not_scroll_sideways(self):
        for name, make in DOCUMENTS.items():
            for width in (320, 390, 768):
                with self.subTest(name, width=width):
                    page = self.standalone(make(), width=width)
                    self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)

    def test_no_text_is_small_or_faint(self):
        for name, make in DOCUMENTS.items():
            for width, dark in ((390, False), (390, True), (1280, False), (1280, True)):
                with self.subTest(name, width=width, dark=dark):
                    texts = self.standalone(make(), width=width, dark=dark).run(TEXTS)
                    self.assertGreater(len(texts), 10)
                    self.assertEqual([text for text in texts if text["size"] < 11.99], [])
                    self.assertEqual([text for text in texts if text["contrast"] < 4.5], [])

    def test_charts_are_drawn_anew_as_wide_as_there_is_room(self):
        page = self.standalone(documents.run())
        width = f"Number({section('Loss')}.querySelector('.chart svg').getAttribute('width'))"
        before = page.run(width)
        page.resize(500)
        page.wait(f"{width} < {before} && {width} === {section('Loss')}.querySelector('.chart').clientWidth")
        self.assertTrue(page.run("[...document.querySelectorAll('.chart svg')].every(svg => !svg.hasAttribute('viewBox'))"))

    def test_wide_tables_scroll_and_show_it(self):
        page = self.standalone(documents.run(), width=390)
        scroll = "document.querySelector('[aria-label=Workers]')"
        self.assertGreater(page.run(f"{scroll}.scrollWidth - {scroll}.clientWidth"), 50)
        self.assertIn("gradient", page.run(f"getComputedStyle({scroll}).backgroundImage"))
        self.assertEqual(page.run(f"{scroll}.tabIndex"), 0)

    def test_devices_are_not_broken_word_by_word_on_a_phone(self):
        nodes = [node | {"devices": ["Intel(R) Xeon(R) Processor @ 2.10GHz", "NVIDIA H100 80GB HBM3"]} for node in documents.nodes()]
        page = self.standalone(documents.run(nodes=nodes), width=390)
        lines = page.run("(cell => cell.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight))(document.querySelector('[aria-label=Nodes] tbody td:nth-child(4)'))")
        self.assertLess(lines, 4)

    def test_the_table_of_actors_is_seen_whole(self):
        actors = [documents.actors()[index % 6] | {"name": f"role_{index}"} for index in range(16)]
        for width in (390, 1280):
            page = self.standalone(documents.run(actors=actors), width=width)
            self.assertEqual(page.run("(part => part.scrollHeight - part.clientHeight)(document.querySelector('[aria-label=Actors]'))"), 0)
        page = self.standalone(documents.run(workers=[documents.worker(rank) for rank in range(64)]))
        self.assertLess(page.run("document.querySelector('[aria-label=Workers]').clientHeight"), 500)

    def test_in_print_nothing_is_hidden_behind_a_scroll_bar(self):
        page = self.standalone(documents.run(workers=[documents.worker(rank) for rank in range(30)]), dark=True)
        page.colors(dark=True, media="print")
        self.assertEqual(page.run("[...document.querySelectorAll('.scroll, .rows, .log')].filter(part => part.scrollHeight > part.clientHeight + 1).length"), 0)
        self.assertEqual(page.run("getComputedStyle(document.getElementById('bar')).display"), "none")
        self.assertGreater(page.run("((rgb) => rgb[0])(getComputedStyle(document.querySelector('h1')).color.match(/\\d+/g).map(Number).map(value => 255 - value))"), 150)

    def test_nothing_moves_for_those_who_want_that(self):
        page = self.standalone(documents.run())
        self.assertEqual(page.run("document.getAnimations().length"), 0)

    def test_without_scripts_a_sentence_says_so(self):
        page = self.tab()
        page.call("Emulation.setScriptExecutionDisabled", {"value": True})
        (self.folder / "without.html").write_bytes(standalone_page(documents.run()))
        page.open((self.folder / "without.html").as_uri())
        self.assertIn(("StaticText", True), [(role, "needs JavaScript, which is disabled" in name) for role, name in page.accessible()])


if __name__ == "__main__":
    main()
