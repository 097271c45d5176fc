"""The page of a comparison: figures, the best of each, links, problems, bars."""

import documents
from support import PageTest, main, rows_of, section, text_in, text_of


class Comparison(PageTest):
    def test_figures_and_the_best_of_each_column(self):
        page = self.standalone(documents.comparison())
        rows = rows_of(page, "Comparison of runs")
        self.assertEqual(rows[1], ["ddp", "fp32", "2", "1 min 25 s best", "1,184 best", "1.3 GiB", "91.0%", "71.0% best", "0.6300 best", "71.8% best", "report · log"])
        self.assertEqual(rows[0][5], "532 MiB best")
        self.assertEqual(rows[2][9], "71.8% best")  # as good as what is written
        self.assertEqual([row[6] for row in rows[:4]], ["91.0%"] * 4)  # all the same: none is the best
        weight = page.run("getComputedStyle(document.querySelector('.best')).fontWeight")
        self.assertGreaterEqual(int(weight), 600)

    def test_texts_have_tokens_and_perplexity_beside_what_others_have(self):
        page = self.standalone(documents.language_comparison())
        titles = page.run("[...document.querySelectorAll('thead th')].map(cell => cell.textContent)")
        self.assertEqual(titles[4:6], ["Samples/s", "Tokens/s"])
        self.assertEqual(titles[10:12], ["Test accuracy", "Test perplexity"])
        rows = rows_of(page, "Comparison of runs")
        self.assertEqual([row[5] for row in rows], ["303,104 best", "291,446", "–"])
        self.assertEqual([row[10] for row in rows], ["–", "–", "71.7%"])
        self.assertEqual([row[11] for row in rows], ["6.12 best", "6.42", "–"])
        self.assertIn("ddp fp32", text_in(page, "Test perplexity"))
        self.assertNotIn("zero3", text_in(page, "Test perplexity"))

    def test_without_texts_there_are_no_columns_of_theirs(self):
        page = self.standalone(documents.comparison())
        titles = page.run("[...document.querySelectorAll('thead th')].map(cell => cell.textContent)")
        self.assertNotIn("Tokens/s", titles)
        self.assertNotIn("Test perplexity", titles)
        self.assertEqual(text_in(page, "Test perplexity"), "(not there)")

    def test_a_problem_has_a_row_with_its_reason(self):
        rows = rows_of(self.standalone(documents.comparison()), "Comparison of runs")
        self.assertEqual(rows[4][:2], ["ddp", "tf32"])
        self.assertIn("no results: precision.mode: tf32 requires a CUDA device", rows[4][2])

    def test_links_lead_to_files_beside_it(self):
        page = self.standalone(documents.comparison())
        links = page.run("[...document.querySelectorAll('tbody tr:nth-child(2) a')].map(link => link.getAttribute('href'))")
        self.assertEqual(links, ["ddp-fp32/report.html", "ddp-fp32.log"])

    def test_bars_are_as_long_as_the_figures(self):
        document = documents.comparison()
        page = self.standalone(document)
        widths = page.run(f"[...{section('Samples/s')}.querySelectorAll('.fill')].map(bar => Number(bar.getAttribute('width')))")
        figures = [run["samples_per_second"] for run in document["runs"][:4]]
        for width, figure in zip(widths, figures, strict=True):
            self.assertAlmostEqual(width / max(widths), figure / max(figures), delta=0.01)

    def test_curves_of_all_runs_are_in_one_chart(self):
        document = documents.comparison()
        page = self.standalone(document)
        for title in ("Training loss by step", "Test loss by step", "Training accuracy by step", "Test accuracy by step"):
            names = page.run(f"[...{section(title)}.querySelectorAll('.legend li')].map(item => item.childNodes[1].textContent)")
            self.assertEqual(names, ["single fp32", "ddp fp32", "zero1 fp32", "zero3 fp32"], title)  # not the one without figures
        colors = page.run(f"[...{section('Test loss by step')}.querySelectorAll('g.line')].map(line => line.getAttribute('class'))")
        self.assertEqual(len(set(colors)), 4)
        page.run(f"{section('Test loss by step')}.querySelector('.chart').focus()")
        page.press("Home")
        tip = page.run(f"{section('Test loss by step')}.querySelector('.tip').innerText").replace("\n", " ")
        for text in ("step 194", "single fp32 1.4400", "ddp fp32 0.9000"):
            self.assertIn(text, tip)

    def test_runs_that_were_there_before_have_names_and_no_machine(self):
        page = self.standalone(documents.compared_runs())
        rows = rows_of(page, "Comparison of runs")
        self.assertEqual([row[:3] for row in rows], [["one", "single", "fp32"], ["two", "ddp", "fp32"], ["three (stopped)", "zero1", "fp32"]])
        self.assertIn("3 runs", text_of(page, ".about"))
        self.assertIn("two", text_in(page, "Samples/s"))
        self.assertEqual(text_in(page, "Machine"), "(not there)")
        titles = page.run("[...document.querySelectorAll('thead th')].map(cell => cell.textContent)")
        self.assertNotIn("Files", titles)
        self.assertNotIn("Job", titles)
        others = documents.compared_runs()
        others["runs"][0] |= {"job": "mlp on mnist"}
        self.assertEqual([row[1] for row in rows_of(self.standalone(others), "Comparison of runs")], ["mlp on mnist", "resnet20 on cifar10", "resnet20 on cifar10"])

    def test_figures_that_are_all_zero_have_no_bars(self):
        document = documents.comparison()
        for run in document["runs"]:
            run["overlap_ratio"] = 0
        page = self.standalone(document)
        self.assertEqual(text_in(page, "Overlap"), "(not there)")
        self.assertNotEqual(text_in(page, "Busy"), "(not there)")

    def test_machine_version_and_date(self):
        page = self.standalone(documents.comparison())
        self.assertIn("Xeon", text_in(page, "Machine"))
        self.assertIn("32.0 GiB", text_in(page, "Machine"))
        for text in ("5 modes", "1 without results", "2026-11-24 04:50 UTC", "troupe 0.1.0"):
            self.assertIn(text, text_of(page, ".about"))


if __name__ == "__main__":
    main()
