"""What seldom is: nothing yet, numbers that are none, many workers, a run that failed, texts that look like markup."""

import documents
from support import PageTest, main, rows_of, section, text_in, text_of

MARKUP = "<img src=x onerror=alert(1)></script><script>document.title='taken'</script>&amp;\"'"


class Edges(PageTest):
    def test_a_daemon_that_waits(self):
        page = self.standalone(documents.waiting())
        self.assertEqual(text_of(page, "h1"), "Waiting for a job")
        self.assertEqual(page.run("[...document.querySelectorAll('h2')].filter(part => part.offsetParent).map(part => part.textContent)"), ["Cluster", "Record"])

    def test_a_document_with_next_to_nothing(self):
        for document in ({"kind": "run", "status": "starting"}, {"kind": "run", "live": False, "status": "completed", "run": None, "progress": None, "steps": None},
                         {"kind": "comparison"}, {"kind": "comparison", "runs": []}):  # fmt: skip
            self.standalone(document)

    def test_no_evaluation_yet(self):
        document = documents.run(points=20, epochs=[])
        document["progress"] |= {"test_loss": None, "test_accuracy": None}
        page = self.standalone(document)
        self.assertIn("no evaluation yet", text_of(page, ".tiles"))
        self.assertIn("No epoch has ended yet.", text_in(page, "Epochs"))

    def test_one_point(self):
        page = self.standalone(documents.run(points=1, epochs=[]))
        self.assertEqual(page.run(f"{section('Loss')}.querySelectorAll('g.line circle').length"), 1)

    def test_numbers_that_are_none(self):
        document = documents.run(points=40)
        for name in ("loss", "accuracy", "gradient_norm"):
            document["steps"][name][10:14] = [None] * 4
        document["progress"] = {name: None for name in document["progress"]}
        document["step_seconds"] |= {"median": None, "p95": None, "max": None}
        page = self.standalone(document)
        self.assertNotRegex(page.run("document.body.innerText"), r"NaN|undefined|null|Infinity")
        self.assertNotRegex(page.run("document.querySelector('main').innerHTML"), r"NaN|undefined|Infinity")
        # The curve has a gap where values are missing.
        self.assertEqual(page.run(f"{section('Loss')}.querySelector('g.faint .curve').getAttribute('d').split('M').length"), 3)

    def test_all_values_are_missing(self):
        document = documents.run(points=40, epochs=[])
        for name in documents.COLUMNS[1:]:
            document["steps"][name] = [None] * 40
        page = self.standalone(document)
        self.assertIn("No step yet.", text_in(page, "Loss"))

    def test_a_run_that_failed_says_so_first(self):
        page = self.standalone(documents.run(status="failed", live=False, error="worker 1: no memory left"))
        self.assertIn("worker 1: no memory left", text_of(page, "[role=alert]"))
        self.assertEqual(page.run("document.title"), "✕ failed: resnet20-ddp – troupe")
        top = page.run("document.querySelector('[role=alert]').getBoundingClientRect().top")
        self.assertLess(top, 300)

    def test_many_workers(self):
        page = self.standalone(documents.run(workers=[documents.worker(rank) for rank in range(64)]))
        self.assertEqual(len(rows_of(page, "Workers")), 64)
        self.assertLess(page.run(f"{section('Memory')}.offsetHeight"), 700)

    def test_long_names_stay_in_the_page(self):
        document = documents.run(error="x" * 500)
        long = "a-very-long-name-without-a-space-" * 8
        document["run"] |= {"name": long, "host": long, "dataset": long}
        document["workers"][0]["device"] = document["nodes"][0]["name"] = document["timeline"]["rows"][0]["group"] = long
        for width in (390, 1280):
            page = self.standalone(document, width=width)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)

    def test_markup_in_texts_is_text(self):
        document = documents.run(error=MARKUP, config=MARKUP)
        document["run"] |= {name: MARKUP for name in ("name", "model", "dataset", "strategy", "precision", "host", "version", "sample_name", "started")}
        document["nodes"][0] |= {"name": MARKUP, "address": MARKUP, "state": MARKUP, "page": "javascript:alert(1)//:1", "devices": [MARKUP]}
        document["actors"][0]["name"] = document["workers"][0]["device"] = document["workers"][0]["node"] = MARKUP
        document["log"][0] |= {"level": MARKUP, "text": MARKUP, "time": MARKUP}
        document["timeline"]["kinds"][0] = document["timeline"]["rows"][0]["name"] = document["timeline"]["rows"][0]["group"] = MARKUP
        document["timeline"]["rows"][0]["spans"][0][3] = MARKUP
        document["workers"][0]["bytes_by_kind"][MARKUP] = 5
        document["checkpoints"]["path"] = MARKUP
        document["status"] = MARKUP
        page = self.standalone(document)
        self.assertEqual(page.run("document.querySelectorAll('img, script:not([type]) ~ img').length"), 0)
        self.assertEqual(text_of(page, "h1"), MARKUP)
        self.assertNotEqual(page.run("document.title"), "taken")
        self.assertEqual(page.run("[...document.links].filter(link => /^javascript/.test(link.href)).length"), 0)

    def test_what_has_classes_of_scripts_in_a_comparison_is_text(self):
        document = documents.comparison()
        document["title"] = MARKUP
        document["runs"][0] |= {"strategy": MARKUP, "report": "javascript:alert(1)", "log": "../../etc/passwd"}
        document["runs"][4]["problem"] = MARKUP
        page = self.standalone(document)
        self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        self.assertEqual(text_of(page, "h1"), MARKUP)
        self.assertEqual(page.run("document.querySelectorAll('tbody tr:first-child a').length"), 0)


if __name__ == "__main__":
    main()
