"""Everything that a pointer does, keys do, too; what they lead to is said."""

import documents
from support import PageTest, main, percent, section, text_of

SAID = "document.getElementById('announcer').textContent"


def focus(page, title, selector=".chart"):
    page.run(f"{section(title)}.querySelector({selector!r}).focus()")


def tip(page, title):
    return page.run(f"(tip => tip.hidden ? null : tip.innerText.replace(/\\s+/g, ' ').trim())({section(title)}.querySelector('.tip'))")


class Keyboard(PageTest):
    def test_arrows_move_through_the_points_of_a_chart(self):
        document = documents.run(points=20, epochs=[])
        losses = document["steps"]["loss"]
        page = self.standalone(document)
        focus(page, "Loss")
        page.press("Home")
        self.assertIn(f"step 0, epoch 1: lowest to highest", page.run(SAID))
        self.assertIn(f"training batch {losses[0]:.4f}", page.run(SAID))
        page.press("ArrowRight", 2)
        self.assertIn("step 8", page.run(SAID))
        self.assertIn(f"training batch {losses[2]:.4f}", page.run(SAID))
        self.assertIn(f"{losses[2]:.4f}", tip(page, "Loss"))
        page.press("End")
        self.assertIn(f"training batch {losses[19]:.4f}", page.run(SAID))
        page.press("PageUp")
        self.assertIn("step 36", page.run(SAID))
        page.press("Escape")
        self.assertIsNone(tip(page, "Loss"))

    def test_the_cursors_of_curves_go_together(self):
        document = documents.run(points=20, epochs=[])
        page = self.standalone(document)
        focus(page, "Loss")
        page.press("Home")
        value = page.run(f"{section('Accuracy')}.querySelector('.legend b').textContent")
        self.assertEqual(value, percent(document["steps"]["accuracy"][0]))
        self.assertEqual(page.run(f"{section('Accuracy')}.querySelectorAll('.cursor').length"), 1)

    def test_a_pointer_shows_the_point_below_it(self):
        document = documents.run(points=20, epochs=[])
        page = self.standalone(document)
        x, y = page.run(f"(svg => {{ svg.scrollIntoView({{block: 'center'}}); const area = svg.getBoundingClientRect(); return [area.right - 13, area.top + 90]; }})({section('Loss')}.querySelector('.chart svg'))")
        page.point(x, y)
        self.assertIn("step 76", tip(page, "Loss"))
        page.point(2, 2)
        self.assertIsNone(tip(page, "Loss"))

    def test_bins_and_bars(self):
        page = self.standalone(documents.run())
        focus(page, "Step time")
        page.press("Home")
        self.assertRegex(page.run(SAID), r"98 ms – 99\.1 ms: steps \d+ \(")
        focus(page, "Memory")
        page.press("Home")
        self.assertIn("rank 0 · cpu:0: parameters 40.0 MiB, gradients 40.0 MiB, optimizer 80.0 MiB", page.run(SAID))
        page.press("ArrowDown")
        self.assertIn("rank 1", page.run(SAID))
        focus(page, "Where the time goes")
        page.press("End")
        self.assertIn("rank 1 · cpu:1: compute 90.0%, waiting for data 2.0%, communication 3.0%, optimizer 1.0%, rest 4.0%", page.run(SAID))

    def test_the_timeline(self):
        page = self.standalone(documents.run())
        title = "Timeline of step 41"
        focus(page, title)
        page.press("ArrowRight")
        self.assertIn("forward layer1.0: compute, rank 0 compute 2.2 ms", page.run(SAID))
        page.press("ArrowRight")
        self.assertIn("forward layer1.1", page.run(SAID))
        page.press("End")
        self.assertIn("backward layer1.2", page.run(SAID))
        page.press("ArrowDown")
        self.assertIn("all-reduce bucket 6: collective", page.run(SAID))
        width = page.run(f"{section(title)}.querySelector('.chart').offsetWidth")
        page.press("+", 2)
        self.assertAlmostEqual(page.run(f"{section(title)}.querySelector('.chart').offsetWidth") / width, 4, delta=0.1)
        page.press("Home")
        self.browser.listen(0.2)
        cursor, pane = page.run(f"(card => [card.querySelector('.outline').getBoundingClientRect().left, card.querySelector('.pane').getBoundingClientRect().left])({section(title)})")
        self.assertGreaterEqual(cursor, pane - 2)
        page.press("0")
        self.assertEqual(page.run(f"{section(title)}.querySelector('.chart').offsetWidth"), width)

    def test_zoom_buttons(self):
        page = self.standalone(documents.run())
        chart = f"{section('Timeline of step 41')}.querySelector('.chart')"
        width = page.run(f"{chart}.offsetWidth")
        page.run("document.querySelector('[aria-label=\"Zoom in\"]').click()")
        self.assertAlmostEqual(page.run(f"{chart}.offsetWidth") / width, 2, delta=0.05)
        page.run("document.querySelector('[aria-label=\"Zoom out\"]').click()")
        self.assertEqual(page.run(f"{chart}.offsetWidth"), width)

    def test_a_logarithmic_axis(self):
        page = self.standalone(documents.run())
        page.run(f"{section('Loss')}.querySelector('button').click()")
        self.assertEqual(page.run(f"{section('Loss')}.querySelector('button').getAttribute('aria-pressed')"), "true")
        ticks = page.run(f"[...{section('Loss')}.querySelectorAll('.chart text[text-anchor=end]')].map(text => text.textContent)")
        self.assertEqual(ticks, ["1", "2"])

    def test_tab_begins_at_the_skip_link(self):
        page = self.standalone(documents.run())
        page.press("Tab")
        self.assertEqual(page.run("document.activeElement.className"), "skip")
        self.assertGreaterEqual(page.run("document.activeElement.getBoundingClientRect().top"), 0)
        page.press("Enter")
        self.assertEqual(page.run("document.activeElement.id"), "content")

    def test_focus_is_seen(self):
        page = self.standalone(documents.run())
        page.press("Tab", 6)
        self.assertNotEqual(page.run("getComputedStyle(document.activeElement).outlineStyle"), "none")

    def test_the_theme_is_kept(self):
        page = self.standalone(documents.run())
        background = "getComputedStyle(document.body).backgroundColor"
        light = page.run(background)
        button = "document.querySelector('#bar button')"
        page.run(f"{button}.click()")
        page.run(f"{button}.click()")
        self.assertEqual(page.run(f"{button}.getAttribute('aria-label')"), "Colours: dark")
        self.assertNotEqual(page.run(background), light)
        page.open(page.run("location.href"))
        page.wait("document.body.dataset.drawn > 0")
        page.wait(f"{background} !== '{light}'")
        page.run("localStorage.clear()")
        page.requests[1:] = []

    def test_the_config_unfolds_and_is_copied(self):
        page = self.standalone(documents.run())
        focus(page, "Config", "summary")
        page.press("Enter")
        self.assertTrue(page.run(f"{section('Config')}.querySelector('details').open"))
        self.assertIn("name: resnet20-ddp", page.run(f"{section('Config')}.innerText"))
        page.run("navigator.clipboard.writeText = async text => { window.written = text; }")
        page.run(f"{section('Config')}.querySelector('button').click()")
        page.wait("window.written")
        self.assertEqual(page.run("window.written"), documents.run()["config"])
        self.assertEqual(text_of(page, "#announcer"), "Copied")


if __name__ == "__main__":
    main()
