"""The two runs of bench/gpu/run with programs that only pretend: announcements, time, a report whatever happens;
and the order and rows of --second.
"""

import importlib
import re
import signal
import sys
import unittest

sys.dont_write_bytecode = True
from fake_programs import result  # noqa: E402
from gpu_run_fixture import AMP, GPT2, ROOT, GpuRunCase, beside  # noqa: E402

sys.path.insert(0, str(ROOT / "bench/gpu"))
RUNS = importlib.import_module("suite.runs").RUNS

PARTS = {
    "first": ["doctor", "kernels", "engines", "host_waits", "resnet18", "resnet50", "gpt2"],
    "second": ["step", "trace", "collectives", "sanitizer"],
}
MOST = {"first": 4.5 * 60, "second": 9 * 60}
ENDING = {"first": 15, "second": 30}  # seconds that ending the last programs may take: at most one, or three
STARTER = "bench_gpu_train_step"


class TwoRuns(GpuRunCase):
    def lines(self):
        return [line.split(" ", 1)[1] for line in self.said.splitlines() if re.match(r"\d\d:\d\d:\d\d ", line)]

    def saved(self):
        return (self.scratch / "out/report.md").read_text()

    def test_each_says_first_what_it_will_do_and_last_where_its_report_is(self):
        for name, parts in PARTS.items():
            with self.subTest(name):
                self.run_suite(f"--{name}", "--rounds", "1", "--only", "none of them")
                said = self.lines()
                self.assertTrue(said[0].startswith(f"--{name}: "), said)
                for i, part in enumerate(parts):
                    self.assertRegex(said[1 + i], rf"^  {part}, at most \d+ s: ")
                self.assertTrue(said[1 + len(parts)].startswith("  needs a CUDA device"), said)
                self.assertEqual(said[-1], f"report: {self.scratch / 'out/report.md'}")
                self.assertEqual(list(self.report["parts"]), parts)
                self.assertLessEqual(len(list((self.scratch / "out").iterdir())), 8)

    def test_each_keeps_its_time_and_leaves_a_share_to_every_part(self):
        self.assertEqual({name: list(run.parts) for name, run in RUNS.items()}, PARTS)
        for name, run in RUNS.items():
            with self.subTest(name):
                self.assertLessEqual(run.total + ENDING[name], MOST[name])
                self.assertLess(sum(share.least for share in run.parts.values()), run.total)
                self.assertTrue(all(share.least > 0 for share in run.parts.values()))

    def test_a_dry_run_of_each_writes_nothing(self):
        for name in PARTS:
            for more in ([], ["--tiny"]):
                self.assertEqual(self.run_suite(f"--{name}", "--dry-run", *more), 0, self.said)
                self.assertIn(f"# --{name}: ", self.said)
                self.assertFalse((self.scratch / "out").exists())

    def test_one_run_at_a_time_and_none_with_parts(self):
        self.assertEqual(self.run_suite("--first", "--second"), 2)
        for name in PARTS:
            self.assertEqual(self.run_suite("step", f"--{name}"), 2)
            self.assertIn(f"--{name} has its own parts", self.said)

    def test_a_machine_that_goes_away_leaves_a_report(self):
        self.fake.script("troupe_gpu_tests", "sleep 1000")
        self.fake.script(STARTER, "sleep 1000")
        for name, part in (("first", "kernels"), ("second", "step")):
            with self.subTest(name):
                program = self.start(f"--{name}")
                self.wait_for(lambda row=f"| {part} | running |": row in self.saved())
                program.send_signal(signal.SIGKILL)
                program.communicate()
                self.end_the_orphans()
                self.assertIn(f"| {part} | running |", self.saved())

    def test_an_interrupt_and_a_mistake_of_our_own_end_with_the_reports_place(self):
        self.fake.script(STARTER, "sleep 1000")
        program = self.start("--second")
        self.wait_for(lambda: "| step | running |" in self.saved())
        program.send_signal(signal.SIGTERM)
        self.said = program.communicate(timeout=60)[0]
        self.assertEqual(program.returncode, 1)
        self.assertIn("interrupted: what was measured is in the report", self.said)
        self.assertEqual(self.lines()[-1], f"report: {self.scratch / 'out/report.md'}")
        change = {"suite/machine.py": {'    machine["device"] = None\n': "    {}[0]\n"}}
        self.assertEqual(self.run_suite("--second", changed=change), 1)
        self.assertIn("KeyError", self.said)
        self.assertEqual(self.lines()[-1], f"report: {self.scratch / 'out/report.md'}")


class Second(GpuRunCase):
    def setUp(self):
        super().setUp()
        self.fake.sanitizer()

    def test_rows_beside_pytorch_come_first_and_the_compiler_after_all_of_them(self):
        self.assertEqual(self.run_suite("--second"), 0, self.said)
        sittings = re.findall(r"step: (\S+), (\w+)", self.said)
        self.assertEqual(sittings, [(AMP, "eager"), (GPT2, "eager"), (AMP, "compile"), (GPT2, "compile")])
        self.assertEqual(list(self.report["step"]), [AMP, GPT2])
        for row in self.report["step"].values():
            self.assertEqual((row["summary"]["ratio_eager"], row["summary"]["best_peer"]), (3, "compile"))
        language = self.text[self.text.index("## Training step, tokens/s") :]
        self.assertRegex(language, rf"(?m)^\| {GPT2} \| 300,000 \| 100,000 \| 120,000 \| 150,000 \| 3.00 \| 2.00 \|")
        self.assertEqual(self.report["tests"]["collectives"]["passed"], 6)  # two a process
        self.assertEqual(len(self.report["sanitizer"]["memcheck"]["clean"]), 14)
        self.assertLessEqual(len(list((self.scratch / "out").iterdir())), 8)

    def test_peers_are_told_what_the_language_model_is(self):
        self.assertEqual(self.run_suite("--second", "--dry-run"), 0)
        case = "--model gpt2 --sequence 1024 --batch 8 --precision amp_bf16 --vocabulary 50304"
        variants = re.findall(rf"gpu_train_step.py {case} .*--variant (\w+)", self.said)
        self.assertEqual(variants, ["eager", "fused", "compile"])
        self.assertEqual(len(re.findall(rf"bench_gpu_train_step {case} ", self.said)), 2)

    def starts(self, *words):
        """How often our step is started for a row with one round."""
        self.fake.script(STARTER, f"echo x >>{self.scratch}/starts; echo '{result(300, 800)}'")
        self.assertEqual(self.run_suite(*words, "--rounds", "1"), 0, self.said)
        count = (self.scratch / "starts").read_text().count("x")
        (self.scratch / "starts").unlink()
        return count

    def test_ours_is_not_prepared_where_its_plans_are_known(self):
        row = ("step", "--only", f"^{GPT2}$")
        self.assertEqual(self.starts(*row), 3)  # one that does not count, and one in each sitting
        self.assertEqual(self.starts("gpt2", *row), 3)  # the start of gpt2, and one in each sitting
        folder = "$XDG_CACHE_HOME/troupe/cudnn"
        plan = f"mkdir -p {folder}; echo '{{}}' >{folder}/{'a' * 32}.json"
        self.fake.script(STARTER, f"{plan}; echo '{result(300, 800)}'")
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        (self.scratch / "out/plans.tar.gz").rename(self.scratch / "plans.tar.gz")
        self.assertEqual(self.starts(*row, "--plans", self.scratch / "plans.tar.gz"), 2)

    def test_a_row_that_hangs_leaves_the_others_their_time(self):
        self.fake.script(STARTER, f"case $* in *amp_fp16*) sleep 1000 ;; esac\necho '{result(300, 800)}'")
        change = {"suite/runs.py": {"least_row=60": "least_row=8"}, "suite/step.py": {"LEAST = 30.0": "LEAST = 2.0"}}
        self.assertEqual(self.run_suite("--second", "--rounds", "1", "--total", "80", changed=change), 1)
        rows = self.report["step"]
        self.assertNotIn("ours", rows[AMP].get("summary", {}))
        self.assertIn("ratio_eager", rows[GPT2]["summary"])
        for part in ("collectives", "sanitizer"):
            self.assertNotIn("no time left", str(self.report["parts"][part]))

    def test_a_part_that_fails_takes_no_other_along(self):
        self.fake.script("troupe_gpu_collectives_tests", "exit 3")
        self.assertEqual(self.run_suite("--second", "--rounds", "1"), 1)
        self.assertEqual(self.states(), {"step": "ok", "trace": "ok", "collectives": "FAILED", "sanitizer": "ok"})


load_tests = beside

if __name__ == "__main__":
    unittest.main()
