"""What the page says is what the document says."""

import math

import documents
from support import PageTest, main, percent, rows_of, section, text_in, text_of


class Numbers(PageTest):
    def test_the_top_says_what_runs_and_how_far_it_is(self):
        page = self.standalone(documents.run())
        self.assertEqual(text_of(page, "h1"), "resnet20-ddp")
        self.assertIn("training", text_of(page, ".badge"))
        for text in ("resnet20 on cifar10", "ddp", "fp32", "2 workers", "2026-11-24 04:45 UTC", "alpha", "troupe 0.1.0"):
            self.assertIn(text, text_of(page, ".about"))
        progress = page.run("document.querySelector('[role=progressbar]').getAttribute('aria-valuenow')")
        self.assertEqual(float(progress), 30.8)
        self.assertEqual(text_of(page, ".progress"), "step 600 of 1,950 30.8% 1 min 05 s so far 2 min 27 s left")
        self.assertEqual(page.run("document.title"), "31% resnet20-ddp – troupe")

    def test_tiles(self):
        page = self.standalone(documents.run())
        tiles = page.run("Object.fromEntries([...document.querySelectorAll('.tiles div')].map(tile => [tile.dataset.tile, tile.querySelector('dd').innerText.replace(/\\s+/g, ' ')]))")
        self.assertEqual(tiles, {"Training loss": "0.7312 last step", "Training accuracy": "74.2% last step", "Test accuracy": "71.5% best 79.0%, loss 0.8123", "Images/s": "1,184 MFU 38.2%, 90.2 GFLOP/s",
                                 "Step": "600 of 1,950", "Epoch": "4 of 10", "Memory": "1.4 GiB of 8.0 GiB"})  # fmt: skip

    def test_texts_have_tokens_and_a_perplexity(self):
        document = self.on_texts(150)
        page = self.standalone(document)
        tile = lambda name: text_of(page, f"[data-tile='{name}'] dd")
        self.assertEqual(tile("Training loss"), "0.7312 perplexity 2.08")
        self.assertEqual(tile("Test loss"), "0.8123 perplexity 2.25")
        self.assertEqual(tile("Tokens/s"), "303,155 MFU 38.2%, 90.2 GFLOP/s")
        self.assertIn("2.39", rows_of(page, "Epochs")[0])
        document = self.on_texts(10)
        last = document["steps"]["loss"][-1]
        self.assertIn(f"training batch {math.exp(last):.2f}", text_in(self.standalone(document), "Perplexity"))

    def test_what_devices_could_do_is_told_where_it_is_known(self):
        document = documents.run(points=10)
        page = self.standalone(document)
        self.assertIn(f"{100 * document['steps']['mfu'][-1]:.1f}%", text_in(page, "MFU"))
        document["progress"]["mfu"] = None
        document["steps"]["mfu"] = [None] * 10
        page = self.standalone(document)
        self.assertEqual(text_of(page, "[data-tile='Images/s'] dd"), "1,184")
        self.assertEqual(text_in(page, "MFU"), "(not there)")

    def test_a_share_above_the_peak_has_its_reasons(self):
        document = documents.run(points=10)
        self.assertIn("100% is 236 GFLOP/s", text_in(self.standalone(document), "MFU"))
        self.assertNotIn("Winograd", text_in(self.standalone(document), "MFU"))
        document["progress"]["mfu"] = document["steps"]["mfu"][-1] = 1.04
        page = self.standalone(document)
        self.assertEqual(text_of(page, "[data-tile='Images/s'] dd"), "1,184 MFU above 100% (Winograd, or peak measured too low), 90.2 GFLOP/s")
        self.assertIn("above 100%: Winograd needs fewer operations than are counted", text_in(page, "MFU"))

    def test_time_goes_to_parts_of_steps_and_of_the_run(self):
        document = documents.run(points=10)
        document["workers"] = [documents.worker(0) | {"busy_ratio": 0.775, "data_wait_ratio": 0.02, "collective_ratio": 0.158, "optimizer_ratio": 0.01}]
        document["progress"] |= {"seconds": 100, "step_seconds": 80, "evaluation_seconds": 12, "checkpoint_seconds": 3}
        page = self.standalone(document)
        parts = lambda chart: page.run(f"(() => {{ const chart = [...{section('Where the time goes')}.querySelectorAll('.chart')][{chart}]; chart.focus(); chart.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Home' }})); return document.querySelector('.tip:not([hidden])').innerText.replace(/\\s+/g, ' '); }})()")
        self.assertIn("compute 77.5% waiting for data 2.0% communication 15.8% optimizer 1.0% rest 3.7%", parts(0))
        self.assertIn("steps 1 min 20 s evaluations 12 s checkpoints 3 s rest 5 s", parts(1))

    def test_small_numbers_are_short(self):
        document = documents.run(points=3)
        document["steps"]["lr"] = [1e-5, 5e-6, 3.605e-6]
        self.assertIn("3.6e-6", text_in(self.standalone(document), "Learning rate"))

    def test_the_newest_text_is_the_first_and_no_markup(self):
        document = self.on_texts(10)
        texts = [{"step": step, "prompt": "And God", "text": f" said\n<b>{step}</b>", "tokens": 7, "seconds": 0.5} for step in (100, 1200)]
        page = self.standalone(document | {"generated": texts})
        self.assertIn("after step 1,200 And God said <b>1200</b> after step 100 And God said <b>100</b>", text_in(page, "Generated text"))
        self.assertEqual(text_in(self.standalone(document), "Generated text"), "(not there)")

    @staticmethod
    def on_texts(points):
        document = documents.run(points=points)
        document["run"] |= {"dataset": "text", "sample_name": "sequences", "tokens_per_sample": 256}
        for key in ("accuracy", "test_accuracy"):
            document["progress"][key] = None
        return document

    def test_a_curve_goes_through_the_points_of_its_column(self):
        document = documents.run(points=3)
        document["steps"]["lr"] = [0.1, 0.3, 0.2]
        page = self.standalone(document)
        path = page.run(f"{section('Learning rate')}.querySelector('.curve').getAttribute('d')")
        points = [tuple(map(float, point.split())) for point in path.lstrip("M").split("L")]
        self.assertEqual(len(points), 3)
        (x0, y0), (x1, y1), (x2, y2) = points
        self.assertAlmostEqual(x1 - x0, x2 - x1, delta=0.2)
        self.assertAlmostEqual((y2 - y0) / (y1 - y0), 0.5, delta=0.01)

    def test_legends_have_the_last_values(self):
        document = documents.run(points=10)
        page = self.standalone(document)
        self.assertIn(f"training batch {document['steps']['loss'][-1]:.4f}", text_in(page, "Loss"))
        self.assertIn(f"training batch {percent(document['steps']['accuracy'][-1])}", text_in(page, "Accuracy"))

    def test_curves_fill_the_chart_where_max_steps_ends_inside_an_epoch(self):
        document = documents.run(points=15, epochs=[])
        document["run"] |= {"steps_per_epoch": 390, "total_steps": 60}
        for step in ({"step": 59}, {}):  # earlier versions did not write it
            with self.subTest(step):
                document["epochs"] = [documents.epochs(1)[0] | {"step": None} | step]
                page = self.standalone(document)
                end = page.run(f"(area => [...{section('Loss')}.querySelectorAll('.curve')].map(curve => curve.getBoundingClientRect().right - area.left) .reduce((a, b) => Math.max(a, b)) / area.width)({section('Loss')}.querySelector('.chart svg').getBoundingClientRect())")
                self.assertGreater(end, 0.85)
                point = page.run(f"(dot => dot.right)({section('Loss')}.querySelector('path.dot').getBoundingClientRect()) / {section('Loss')}.querySelector('.chart svg').getBoundingClientRect().right")
                self.assertLessEqual(point, 1)

    def test_each_accuracy_says_of_what_it_is(self):
        document = documents.run()
        page = self.standalone(document)
        self.assertEqual(page.run("[...document.querySelectorAll('[data-tile]')].map(tile => tile.dataset.tile).filter(name => /accuracy|loss/i.test(name))"),
                         ["Training loss", "Training accuracy", "Test accuracy"])  # fmt: skip
        for name in ("training batch, smoothed", "training, mean of the epoch", "test"):
            self.assertIn(name, page.run(f"[...{section('Accuracy')}.querySelectorAll('.legend li')].map(item => item.childNodes[1].textContent)"))
        document["progress"]["test_accuracy"] = max(epoch["test_accuracy"] for epoch in document["epochs"])
        self.assertEqual(text_of(self.standalone(document), "[data-tile='Test accuracy'] dd"), "79.0% loss 0.8123")  # the last one is the best

    def test_a_chart_of_what_is_always_zero_is_left_out(self):
        document = documents.run(points=40)
        for name in ("data_wait_ratio", "overlap_ratio", "lr"):
            document["steps"][name] = [0] * 40
        page = self.standalone(document)
        self.assertEqual([text_in(page, title) for title in ("Waiting and overlap", "Learning rate")], ["(not there)"] * 2)
        document["steps"]["overlap_ratio"][7] = 0.5
        self.assertIn("waited for data 0.0%", text_in(self.standalone(document), "Waiting and overlap"))

    def test_epochs_newest_first(self):
        rows = rows_of(self.standalone(documents.run()), "Epochs")
        self.assertEqual(len(rows), 3)
        self.assertEqual(rows[0], ["3", "0.7667", "82.7%", "0.8700", "79.0%", "41.2 s", "3.1 s"])

    def test_step_times(self):
        text = text_in(self.standalone(documents.run()), "Step time")
        self.assertIn("half of the steps within 107 ms, 95% within 121 ms, the longest 142 ms", text)
        self.assertIn("median 107 ms", text)

    def test_workers_actors_and_nodes(self):
        page = self.standalone(documents.run())
        self.assertEqual(rows_of(page, "Workers")[1], ["1", "cpu:1", "alpha", "108 ms", "90.0%", "2.0%", "1.3 GiB", "1.4 GiB", "8.0 GiB"])
        self.assertEqual(rows_of(page, "Actors")[2], ["shard_manager ×2", "3 waiting", "215", "66,495", "5.4%"])
        nodes = rows_of(page, "Nodes")
        self.assertEqual(nodes[0], ["alpha leads", "training", "0", "cpu:0", "10.0.0.1:9400", "now", "0.1.0", "10.0.0.1:9401"])
        self.assertEqual(nodes[1][5:], ["3 s ago", "0.1.0", "–"])
        self.assertEqual(page.run("document.querySelector('[aria-label=Nodes] a').href"), "http://10.0.0.1:9401/")
        self.assertIn("generation 1", text_in(page, "Nodes"))

    def test_equal_devices_of_a_node_are_counted(self):
        nodes = [documents.nodes()[0] | {"devices": ["H100", "H100", "A100"]}]
        self.assertEqual(rows_of(self.standalone(documents.run(nodes=nodes)), "Nodes")[0][3], "2 × H100, A100")

    def test_changes_of_membership(self):
        lost = {"generation": 2, "time": "2026-11-24T04:47:00Z", "reason": "node b:1 (rank 1) was lost", "is_loss": True, "step": 230,
                "steps_repeated": 4, "world_size": 1, "seconds": 0.25}  # fmt: skip
        come = lost | {"generation": 3, "reason": "another node has joined", "steps_repeated": 0, "world_size": 2}
        page = self.standalone(documents.run(generation=3, recoveries=[lost, come]))
        changes = rows_of(page, "Changes")
        self.assertEqual([row[0] for row in changes], ["3", "2"])
        self.assertEqual(changes[1], ["2", "2026-11-24 04:47 UTC", "node b:1 (rank 1) was lost", "1", "230", "4", "250 ms"])

    def test_memory_by_kind_against_the_limit(self):
        document = documents.run()
        page = self.standalone(document)
        self.assertIn("1.3 GiB, peak 1.4 GiB of 8.0 GiB", text_in(page, "Memory"))
        widths = page.run(f"[...{section('Memory')}.querySelectorAll('.chart rect')].map(bar => [bar.getAttribute('class'), Number(bar.getAttribute('width'))])")
        trough = next(width for kind, width in widths if kind == "trough")
        activations = next(width for kind, width in widths if kind == "c3 fill")
        worker = document["workers"][0]
        self.assertAlmostEqual(activations / trough, worker["bytes_by_kind"]["activations"] / worker["memory_limit_bytes"], delta=0.005)

    def bar_and_peak(self, page):
        """Where a worker's bar and the mark of its peak end."""
        return page.run(f"(chart => [Math.max(...[...chart.querySelectorAll('.fill')].map(bar => Number(bar.getAttribute('x')) + Number(bar.getAttribute('width')))), Number(chart.querySelector('.peak').getAttribute('d').match(/[\\d.]+/)[0])])({section('Memory')}.querySelector('.chart'))")

    def test_a_worker_s_bar_does_not_reach_beyond_its_peak(self):
        worker = documents.worker(0, limit=None)
        for name in ("bytes_by_kind", "peak_bytes_by_kind"):
            worker[name]["pinned"] = 3 * documents.GIB  # of the host
        for now in (True, False):
            with self.subTest(now=now):
                page = self.standalone(documents.run(workers=[worker if now else worker | {"bytes_by_kind": None, "memory_bytes": None, "peak_memory_bytes": documents.GIB}]))
                bar, peak = self.bar_and_peak(page)
                self.assertLessEqual(bar, peak + 0.5)
                self.assertGreater(bar, 0.9 * peak)
                self.assertIn("up to 3.0 GiB of pinned host memory per worker", text_in(page, "Memory"))
                self.assertNotIn("pinned", page.run(f"{section('Memory')}.querySelector('.legend').innerText"))
                page.run(f"{section('Memory')}.querySelector('.chart').focus()")
                page.press("Home")
                self.assertIn("pinned host memory 3.0 GiB", page.run(f"{section('Memory')}.querySelector('.tip').innerText").replace("\n", " "))

    def test_the_page_of_a_node_that_follows_is_a_line_with_a_link_to_its_leader(self):
        page = self.standalone(documents.follower())
        self.assertEqual(text_of(page, ".leader"), "This node follows alpha, which leads the job. The page of the run")
        self.assertEqual(page.run("document.querySelector('.leader a').href"), "http://10.0.0.1:9401/")
        self.assertEqual(page.run("document.querySelectorAll('.tiles, .progress').length"), 0)
        shown = page.run("[...document.querySelectorAll('section.card')].filter(card => card.offsetParent).map(card => card.querySelector('h3').textContent)")
        self.assertEqual(shown, ["Timeline of step 41", "Actors", "Log", "Config"])  # of this process
        self.assertEqual(page.run("document.title"), "training: resnet20-ddp – troupe")
        nodes = [documents.nodes()[0] | {"page": None}, documents.nodes()[1]]
        self.assertIn("The leader has no page: its metrics.listen is off", text_of(self.standalone(documents.follower() | {"nodes": nodes}), ".leader"))

    def test_checkpoints_log_and_config(self):
        page = self.standalone(documents.run())
        for text in ("Written 3", "Last at step 585", "3.2 MiB", "step-585"):
            self.assertIn(text, text_in(page, "Checkpoints"))
        self.assertIn("04:45:05 warning data: 2 files could not be read", text_in(page, "Log"))
        self.assertIn("name: resnet20-ddp", page.run("document.querySelector('pre').textContent"))

    def test_a_run_without_classes_has_no_accuracy(self):
        document = documents.run()
        document["steps"]["accuracy"] = [None] * 150
        document["progress"] |= {"accuracy": None, "test_accuracy": None}
        for epoch in document["epochs"]:
            epoch |= {"train_accuracy": None, "test_accuracy": None}
        page = self.standalone(document)
        self.assertEqual(text_in(page, "Accuracy"), "(not there)")
        self.assertIn("Test loss 0.8123", text_of(page, ".tiles"))
        self.assertEqual(len(rows_of(page, "Epochs")[0]), 5)

    def test_a_scaled_loss_has_its_chart(self):
        document = documents.run()
        document["steps"] = documents.steps(150, scale=True)
        document["progress"]["skipped_steps"] = 3
        self.assertIn("3 steps skipped", text_in(self.standalone(document), "Loss scale"))
        self.assertEqual(text_in(self.standalone(documents.run()), "Loss scale"), "(not there)")


if __name__ == "__main__":
    main()
