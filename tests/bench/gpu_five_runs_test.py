"""The five runs of bench/gpu/run with programs that only pretend: order, time, what is skipped and why, what
is found, and a report whatever happens.
"""

import importlib
import os
import re
import shlex
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import COMPARED, DOCTOR, EMULATED, result  # noqa: E402
from gpu_run_fixture import AMP, ROOT, GpuRunCase, beside  # noqa: E402

sys.path.insert(0, str(ROOT / "bench/gpu"))
RUNS = importlib.import_module("suite.runs").RUNS

PARTS = {
    "first": ["start", "doctor", "step", "trace"],
    "second": ["tests", "sanitizer"],
    "third": ["step"],
    "fourth": ["epochs"],
    "fifth": ["compare"],
}
MODES = ["single-fp32", "single-fp16", "single-amp_fp16", *(f"{it}-fp32" for it in ("dp", "ddp"))]
MODES += [f"zero{stage}-fp32" for stage in (1, 2, 3)]


class FiveRuns(GpuRunCase):
    def lines(self):
        return [line.split(" ", 1)[1] for line in self.said.splitlines() if re.match(r"\d\d:\d\d:\d\d ", line)]

    def files(self):
        return list((self.scratch / "out").iterdir())

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
                self.assertLessEqual(len(self.files()), 8)

    def test_each_leaves_nine_minutes_and_a_share_to_every_part(self):
        self.assertEqual({name: list(run.parts) for name, run in RUNS.items()}, PARTS)
        for name, run in RUNS.items():
            with self.subTest(name):
                self.assertLessEqual(run.total + 25, 9 * 60)
                self.assertLess(sum(share.least for share in run.parts.values()), run.total)
                rows = 6 * run.least_row  # which come before those with a compiler
                self.assertLess(rows, run.total)

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
        self.fake.sanitizer("sleep 1000")
        self.fake.script("troupe_gpu_tests", "sleep 1000")
        self.fake.script("bench_gpu_train_step", "sleep 1000")
        self.fake.doctor(DOCTOR, train="sleep 1000", compare="sleep 1000")
        self.change_suite({}, self.make_data())
        for name, parts in PARTS.items():
            with self.subTest(name):
                program = self.start(f"--{name}")
                self.wait_for(lambda row=f"| {parts[0]} | running |": row in self.saved())
                program.send_signal(signal.SIGKILL)
                program.communicate()
                self.end_the_orphans()
                self.assertIn(f"| {parts[0]} | running |", self.saved())

    def saved(self):
        return (self.scratch / "out/report.md").read_text()

    def test_an_interrupt_and_a_mistake_of_our_own_end_with_the_reports_place(self):
        self.fake.script("bench_gpu_train_step", "sleep 1000")
        program = self.start("--third")
        self.wait_for(lambda: "running" in self.saved())
        program.send_signal(signal.SIGTERM)
        self.said = program.communicate(timeout=60)[0]
        self.assertEqual(program.returncode, 1)
        self.assertIn("interrupted: what was measured is in the report", self.said)
        self.assertEqual(self.lines()[-1], f"report: {self.scratch / 'out/report.md'}")
        change = {"suite/machine.py": {'    machine["device"] = None\n': "    {}[0]\n"}}
        self.assertEqual(self.run_suite("--third", changed=change), 1)
        self.assertIn("KeyError", self.said)
        self.assertEqual(self.lines()[-1], f"report: {self.scratch / 'out/report.md'}")


class Second(GpuRunCase):
    def sanitizer(self, tool):
        return self.report["sanitizer"][tool]

    def test_clean_tests_under_three_tools(self):
        self.fake.sanitizer()
        self.assertEqual(self.run_suite("--second"), 0, self.said)
        for tool in ("memcheck", "racecheck", "synccheck"):
            # two tests of each of six files
            self.assertEqual(len(self.sanitizer(tool)["clean"]), 12, self.text)
            self.assertRegex(self.text, rf"\| {tool} \| 12 \| 0 \| 0 \| 0 \|")
        self.assertIn("2026.1", self.report["machine"]["compute-sanitizer"])
        words = (self.scratch / "out/sanitizer.txt").read_text()
        self.assertIn("--tool racecheck", words)
        self.assertIn("--kernel-name kns=troupe", words)
        self.assertIn(r"'relu\, and \[more\] of kernels_test'", words)  # as Catch2 wants it

    def test_findings_are_failures_with_the_names_of_tests(self):
        self.fake.sanitizer(
            'case "$*" in *racecheck*relu*augment_test*) '
            "echo '========= Error: Race reported between Write access at sum_kernel+0x10'; "
            "echo '=========     and Read access at sum_kernel+0x20 [96 hazards]'; echo =========; "
            "echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86 ;; esac"
        )
        self.assertEqual(self.run_suite("--second"), 1, self.said)
        test = "relu, and [more] of augment_test"
        found = self.sanitizer("racecheck")["findings"]
        first = "Error: Race reported between Write access at sum_kernel+0x10"
        self.assertEqual(found, {test: {"count": 1, "first": [first]}})
        self.assertEqual(len(self.sanitizer("racecheck")["clean"]), 11)
        self.assertEqual(len(self.sanitizer("synccheck")["clean"]), 12)
        self.assertEqual(self.report["parts"]["sanitizer"]["why"], "not clean: racecheck")
        self.assertIn(f"racecheck: FAILED {test}: 1 findings: {first}", self.text)

    def test_a_crash_and_a_hang_cost_a_test_each(self):
        self.fake.sanitizer(
            'case "$*" in *memcheck*casts*augment*) kill -SEGV $$ ;; *memcheck*casts*flat*) sleep 100 ;; '
            "*memcheck*casts*ops*) echo 'troupe: no room'; exit 3 ;; esac"
        )
        change = {"suite/sanitizer.py": {"TEST_LIMIT = 120.0": "TEST_LIMIT = 3.0"}}
        self.assertEqual(self.run_suite("--second", changed=change), 1, self.said)
        failed = self.sanitizer("memcheck")["failed"]
        self.assertEqual(failed["casts of flat_kernels_test"], "no end within 3 s")
        self.assertRegex(failed["casts of augment_test"], "signal SIGSEGV|exit code 139")
        self.assertEqual(failed["casts of ops_test"], "exit code 3: troupe: no room")
        self.assertEqual(len(self.sanitizer("memcheck")["clean"]), 9)

    def test_each_tool_has_its_share_of_the_time(self):
        self.fake.sanitizer("sleep 100")
        begin = time.monotonic()
        self.run_suite("--second", "--total", "20")
        self.assertLess(time.monotonic() - begin, 20 + 25)
        for tool in ("memcheck", "racecheck", "synccheck"):
            self.assertEqual(len(self.sanitizer(tool)["left_out"]), 12)
            self.assertGreater(self.sanitizer(tool)["seconds"], 1)
        self.assertIn("racecheck, no time left for: casts of kernels_test; ", self.text)

    def test_tests_that_hang_leave_the_sanitizer_its_share(self):
        self.fake.sanitizer()
        self.fake.gpu_tests(run="sleep 1000")
        self.assertEqual(self.run_suite("--second", "--total", "30", "--jobs", "8"), 1)
        self.assertEqual(self.report["parts"]["tests"]["state"], "FAILED")
        self.assertNotIn("no time left", str(self.report["parts"]["sanitizer"]))

    def test_it_is_skipped_where_it_is_not_and_on_an_emulated_device(self):
        where = {"CUDA_HOME": str(self.scratch / "cuda")}
        change = {"suite/sanitizer.py": {'["/usr/local/cuda"]': "[]"}}
        self.assertEqual(self.run_suite("--second", changed=change, **where), 0, self.said)
        part = self.report["parts"]["sanitizer"]
        self.assertEqual(part["state"], "skipped")
        self.assertIn(f"no compute-sanitizer in the search path, beside nvcc or below {where['CUDA_HOME']}", part["why"])
        self.fake.sanitizer()
        self.fake.doctor(EMULATED)
        self.fake.script("troupe_cudnn_tests", "exit 1")
        self.assertEqual(self.run_suite("--second"), 0, self.said)
        self.assertIn("emulated device", self.report["parts"]["sanitizer"]["why"])
        self.assertIn("troupe_cudnn_tests: skipped all: they ask the real cuDNN", self.text)

    def test_it_is_found_beside_the_toolkit(self):
        folder = self.scratch / "cuda/extras/compute-sanitizer"
        folder.mkdir(parents=True)
        self.fake.sanitizer()
        (self.fake.path / "compute-sanitizer").rename(folder / "compute-sanitizer")
        self.assertEqual(self.run_suite("--second", CUDA_HOME=str(self.scratch / "cuda")), 0, self.said)
        self.assertEqual(len(self.sanitizer("memcheck")["clean"]), 12)

    def test_a_log_is_bounded(self):
        noise = "for i in 1 2 3 4 5 6 7 8; do head -c 40000 /dev/zero | tr '\\\\0' x | fold -w 100; echo; done; echo the last"
        self.fake.sanitizer(noise)
        change = {"suite/logs.py": {"12 * 2**20": "2**20", "TAIL = 2**20": "TAIL = 2**16"}}
        self.assertEqual(self.run_suite("--second", changed=change), 0, self.said)
        log = self.scratch / "out/sanitizer.txt"
        self.assertLess(log.stat().st_size, 1.2 * 2**20)
        text = log.read_text()
        self.assertRegex(text, r"\[\d+ characters are left out here\]")
        self.assertIn("the last", text[-2000:])


class Third(GpuRunCase):
    def test_every_precision_comes_before_the_compiler(self):
        self.assertEqual(self.run_suite("--third", "--rounds", "1"), 0, self.said)
        names = ["amp_fp16", "tf32", "fp32", "amp_bf16", "fp16", "bf16"]
        rows = self.report["step"]
        self.assertEqual([name.rpartition("-")[2] for name in rows], names)
        self.assertTrue(all("ratio_eager" in row["summary"] for row in rows.values()))
        sittings = re.findall(r"step: \S+-(\w+), (\w+)", self.said)
        self.assertEqual([name for name, variant in sittings if variant == "eager"], names)
        self.assertEqual([variant for _, variant in sittings], ["eager"] * 6 + ["compile"] * 4)

    def test_a_row_that_hangs_leaves_the_others_their_time(self):
        self.fake.script(
            "bench_gpu_train_step", f"case $* in *amp_fp16*) sleep 1000 ;; esac\necho '{result(300, 800)}'"
        )
        change = {"suite/runs.py": {"least_row=45": "least_row=3"}, "suite/step.py": {"LEAST = 30.0": "LEAST = 2.0"}}
        self.run_suite("--third", "--rounds", "1", "--total", "23", changed=change)
        rows = self.report["step"]
        self.assertNotIn("ours", rows[AMP].get("summary", {}))
        for precision in ("tf32", "fp32", "amp_bf16", "fp16", "bf16"):
            self.assertIn("ratio_eager", rows[f"resnet50-224-b128-{precision}"]["summary"])


class Fourth(GpuRunCase):
    def test_missing_and_damaged_files_are_named_with_the_way_to_go_on(self):
        self.change_suite({}, self.make_data())
        (self.scratch / "data/data_batch_2.bin").unlink()
        (self.scratch / "data/data_batch_4.bin").write_text("half of it")
        for name, part in (("fourth", "epochs"), ("fifth", "compare")):
            with self.subTest(name):
                self.assertEqual(self.run_suite(f"--{name}"), 0, self.said)
                found = self.report["parts"][part]
                self.assertEqual(found["state"], "skipped")
                self.assertIn("data_batch_2.bin missing; damaged: data_batch_4.bin; copy ", found["why"])
                self.assertIn("| data_batch_1.bin | there |", self.text)
                self.assertIn("| data_batch_2.bin | missing |", self.text)
                self.assertIn("| data_batch_4.bin | damaged, 10 bytes |", self.text)
        (self.scratch / "data/data_batch_2.bin").write_text("data_batch_2.bin")
        self.assertEqual(self.run_suite("--fourth"), 1)
        self.assertIn("without the recorded checksum", self.report["parts"]["epochs"]["why"])

    def test_with_all_files_it_trains(self):
        sums = self.make_data()
        summary = {"epochs": 5, "seconds": 0.5, "accuracy": 0.5, "samples_per_second": 9.0}
        summary["workers"] = [{"peak_memory_bytes": 2**30}]
        self.fake.doctor(DOCTOR, train="sleep 1;" + self.fake.write_summary(summary))
        self.fake.python(epochs="echo '{\"epochs\": 5, \"accuracy\": 0.4, \"peak_memory_mib\": 2048}'")
        self.assertEqual(self.run_suite("--fourth", sums=sums), 0, self.said)
        self.assertEqual(list(self.report["epochs"]), ["epochs-amp_fp16", "epochs-fp32"])


class Fifth(GpuRunCase):
    def test_the_table_is_in_the_report_as_it_is(self):
        sums = self.make_data()
        self.fake.doctor(DOCTOR, compare=self.fake.compares())
        self.assertEqual(self.run_suite("--fifth", sums=sums), 0, self.said)
        self.assertIn(COMPARED["head"], self.text)
        rows = [line for line in self.text.splitlines() if line.endswith(COMPARED["rest"])]
        modes = ["-".join(line.strip("| ").split(" | ")[:2]) for line in rows]
        self.assertEqual(modes, MODES)
        self.assertEqual(len(self.report["compare"]["runs"]), 8)
        self.assertIn("what dp-fp32 has said", (self.scratch / "out/compare.txt").read_text())

    def test_a_mode_that_hangs_or_fails_costs_its_own_row(self):
        sums = self.make_data()
        hang = "case $* in *zero1*) sleep 1000 ;; *'dp '*) exit 3 ;; esac\n"
        self.fake.doctor(DOCTOR, compare=hang + self.fake.compares())
        change = {"suite/compare.py": {"ROW_LIMIT = 150.0": "ROW_LIMIT = 4.0", "LEAST = 15.0": "LEAST = 1.0"}}
        self.assertEqual(self.run_suite("--fifth", sums=sums, changed=change), 1, self.said)
        found = self.report["compare"]
        self.assertEqual(found["failed"]["zero1-fp32"], "did not end within 4 s")
        self.assertEqual(set(MODES) - set(found["lines"]), {"zero1-fp32", *(m for m in MODES if "dp-" in m)})
        self.assertIn("zero1-fp32: FAILED, did not end within 4 s", self.text)

    def test_its_commands_are_those_of_the_reference_comparison(self):
        self.assertEqual(self.run_suite("--fifth", "--dry-run"), 0)
        commands = [shlex.split(line) for line in self.said.splitlines() if not line.startswith("#")]
        self.assertEqual([f"{it[4]}-{it[6]}" for it in commands], MODES)
        for words in commands:
            self.assertIn("devices.count=2", words)
            self.assertTrue(os.path.isfile(words[2]), words)


load_tests = beside

if __name__ == "__main__":
    unittest.main()
