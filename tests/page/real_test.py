"""The program's own pages: while it trains, when it has ended, and of a comparison."""

import json
import subprocess
import urllib.request

from support import PROGRAM, main, percent, rows_of, text_in, text_of
from training import SMALL, TrainingTest


def loss(value):
    return f"{value:.4f}" if abs(value) >= 0.01 else f"{value:.3g}"


class Real(TrainingTest):
    def test_a_run_is_followed_to_its_end(self):
        training = self.train("train.epochs=60", "devices.count=2", "parallel.strategy=ddp")
        page = self.opened(training)
        step = "Number(document.querySelector('[data-tile=Step] strong').textContent.replace(',', ''))"
        page.wait(f"{step} > 0")
        first = page.run(step)
        page.wait(f"{step} > {first}")
        self.assertEqual(page.requests[:2], [training.address, training.address + "events"])
        document = training.document()
        self.assertEqual(document["kind"], "run")
        for title in ("Loss", "Accuracy", "Learning rate", "Images/s", "Step time", "Where the time goes", "Memory", "Workers", "Actors", "Nodes", "Config"):
            self.assertNotEqual(text_in(page, title), "(not there)", title)
        # They are counted once a second, the first time before all are there.
        page.wait("document.querySelector('[aria-label=Actors] tbody').innerText.toLowerCase().includes('coordinator')")
        page.wait("document.querySelectorAll('.timeline rect').length > 3")
        training.process.wait(240)
        page.wait("document.querySelector('.state').textContent === 'the run has ended'", seconds=20)
        summary = json.loads((training.folder / "followed/summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["status"], "completed")
        page.wait("document.querySelector('.badge').innerText.includes('completed')")
        self.assertEqual(text_of(page, "[data-tile='Training loss'] strong"), loss(summary["loss"]))
        self.assertEqual(text_of(page, "[data-tile='Test accuracy'] strong"), percent(summary["accuracy"]))
        page.problems[:] = [problem for problem in page.problems if "ERR_" not in problem]

        # What it leaves is the same page, with the same numbers, that asks for nothing.
        report = self.tab().open((training.folder / "followed/report.html").as_uri())
        report.wait("document.body.dataset.drawn > 0")
        self.assertEqual(len(report.requests), 1)
        self.assertIn("completed", text_of(report, ".badge"))
        self.assertEqual(text_of(report, "[data-tile='Training loss'] strong"), loss(summary["loss"]))
        self.assertEqual(text_of(report, "[data-tile=Step] dd"), f"{summary['steps']} of {summary['total_steps']}")
        epochs = [json.loads(line) for line in (training.folder / "followed/epochs.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(rows_of(report, "Epochs")), len(epochs))
        self.assertEqual(rows_of(report, "Epochs")[0][1], loss(epochs[-1]["train_loss"]))
        self.assertEqual(len(rows_of(report, "Workers")), 2)
        self.assertIn(summary["parameters_sha256"], text_in(report, "Run").replace(" ", ""))
        config = (training.folder / "followed/config.yaml").read_text(encoding="utf-8")
        self.assertEqual(report.run("document.querySelector('pre').textContent").strip(), config.strip())

    def test_a_run_that_is_killed_says_so_while_it_is_followed(self):
        training = self.train("train.epochs=2000")
        page = self.opened(training)
        training.process.kill()
        training.process.wait(20)
        page.wait("document.querySelector('.state').textContent.includes('connection lost')", seconds=20)
        page.problems[:] = [problem for problem in page.problems if "ERR_" not in problem]

    def test_what_is_saved_is_a_report_of_that_moment(self):
        training = self.train("train.epochs=2000")
        self.opened(training).wait("Number(document.querySelector('[data-tile=Step] strong').textContent.replace(',', '')) > 0")
        with urllib.request.urlopen(training.address + "report.html", timeout=20) as answer:
            self.assertIn("attachment", answer.headers.get("Content-Disposition", ""))
            (self.folder / "saved.html").write_bytes(answer.read())
        page = self.tab().open((self.folder / "saved.html").as_uri())
        page.wait("document.body.dataset.drawn > 0")
        self.assertEqual(text_of(page, "h1"), "followed")

    def test_a_comparison(self):
        folder = self.folder / "table"
        words = [PROGRAM, "compare", SMALL, "--strategies", "single,ddp", "--precisions", "fp32,tf32", "--output", str(folder),
                 "--set", "train.max_steps=4", "--set", "devices.count=2"]  # fmt: skip
        subprocess.run(words, capture_output=True, check=False)
        runs = json.loads((folder / "compare.json").read_text(encoding="utf-8"))["runs"]
        page = self.tab().open((folder / "compare.html").as_uri())
        page.wait("document.body.dataset.drawn > 0")
        rows = rows_of(page, "Comparison of runs")
        self.assertEqual(len(rows), len(runs))
        figures = [run for run in runs if not run["problem"]]
        self.assertEqual([row[0] for row in rows], [run["strategy"] for run in figures + [run for run in runs if run["problem"]]])
        self.assertTrue(any("no results" in row[2] for row in rows))
        links = page.run("[...document.querySelectorAll('tbody a')].map(link => decodeURIComponent(link.getAttribute('href')))")
        self.assertGreaterEqual(len(links), 2)
        for link in links:
            self.assertTrue((folder / link).exists(), link)


if __name__ == "__main__":
    main()
