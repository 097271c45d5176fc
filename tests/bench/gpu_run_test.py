"""bench/gpu/run with programs that only pretend: tables, ratios, time limits, exit codes."""

import json
import pathlib
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import DOCTOR, RATES, RED, WITHOUT_GPU, result  # noqa: E402
from gpu_run_fixture import AMP, GpuRunCase, beside  # noqa: E402


class GpuRun(GpuRunCase):
    def summary(self, row=AMP):
        return self.report["step"][row]["summary"]

    def test_the_trace_says_how_long_the_device_was_idle(self):
        self.assertEqual(self.run_suite("trace"), 0, self.said)
        self.assertEqual(self.report["trace"]["trace"]["summary"]["idle_ratio"], 0.01)
        self.assertIn("| GPU idle in a step | <= 0.02 | 0.010 | yes |", self.text)

    def test_the_roofline_has_every_node_beside_its_bound(self):
        nodes = [
            {"name": "conv2d", "output": "a", "unit": "stem", "us": 20, "operations": 7.9e9, "bytes": 4.3e6},
            {"name": "relu", "output": "b", "unit": "stem", "us": 10, "operations": 0, "bytes": 8.6e6},
        ]
        nodes = [{**node, "operation_class": "narrow"} for node in nodes]
        found = result(300, 800, idle_ratio=0.01, device="NVIDIA H200", profile=nodes, rates=RATES, ms=0.024)
        self.fake.script("bench_gpu_train_step", f"echo '{found}'")
        self.assertEqual(self.run_suite("trace"), 0, self.said)
        self.assertAlmostEqual(self.report["trace"]["trace"]["summary"]["share_of_bound"], 0.5)
        self.assertIn("| stem | conv2d | a | 20.0 | 4.3 | 7.9 | 0.05 | 0.50 | 10.0 | 0.50 |", self.text)
        self.assertIn("| stem | relu | b | 10.0 | 8.6 | 0.0 | 0.20 | 0.00 | 2.0 | 0.20 |", self.text)

    def test_ratios_are_of_the_medians_and_the_table_has_them(self):
        self.assertEqual(self.run_suite("step", "--only", AMP), 0, getattr(self, "said", ""))
        found = self.summary()
        self.assertEqual(found["ratio_eager"], 3.0)
        self.assertEqual(found["ratio_best"], 2.0)
        self.assertEqual(found["best_peer"], "compile")
        self.assertEqual(found["memory_ratio"], 0.8)
        self.assertEqual(found["ours"]["rounds"], 6)  # three beside each of two sittings
        self.assertEqual(found["eager"]["rounds"], 3)
        row = next(line for line in self.text.splitlines() if line.startswith(f"| {AMP} "))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        self.assertEqual(cells[1:7], ["300.0", "100.0", "120.0", "150.0", "3.00", "2.00"])
        self.assertIn("| AMP fp16, against PyTorch eager | >= 2 | 3.000 | yes |", self.text)
        self.assertIn("| AMP fp16, images/s | >= 8000 | 300.000 | no |", self.text)
        self.assertEqual(self.report["machine"]["device"], "NVIDIA Fake")
        self.assertEqual(self.report["machine"]["PyTorch"], "9.9")

    def test_the_median_of_the_rounds_counts(self):
        counter = self.scratch / "count"
        lines = [result(speed, 800) for speed in (100, 900, 300)]
        self.fake.script(
            "bench_gpu_train_step",
            f"n=$(cat {counter} 2>/dev/null || echo 1); echo $((n % 3 + 1)) >{counter}\n"
            f"case $n in 1) echo '{lines[0]}' ;; 2) echo '{lines[1]}' ;; 3) echo '{lines[2]}' ;; esac",
        )
        self.assertEqual(self.run_suite("step", "--only", "tf32", "--rounds", "3"), 0)
        self.assertEqual(self.summary("resnet50-224-b128-tf32")["images_per_second"], 300)

    def test_a_variant_that_fails_stops_no_other_and_makes_the_exit_code_1(self):
        self.fake.python(fused="echo out of memory >&2; exit 7")
        self.assertEqual(self.run_suite("step", "--only", AMP), 1)
        row = self.report["step"][AMP]
        self.assertEqual(row["failed"], {"fused": "exit code 7: out of memory"})
        self.assertEqual(row["summary"]["ratio_best"], 2.0)
        self.assertEqual(self.report["parts"]["step"]["state"], "FAILED")
        self.assertIn(f"{AMP}, fused: FAILED, exit code 7: out of memory", self.text)

    def test_our_failure_is_told_once_and_the_peers_go_on(self):
        self.fake.script("bench_gpu_train_step", "echo no plan >&2; exit 1")
        self.assertEqual(self.run_suite("step", "--only", AMP), 1)
        row = self.report["step"][AMP]
        self.assertEqual(row["failed"], {"ours": "exit code 1: no plan"})
        self.assertEqual(row["summary"]["eager"]["rounds"], 3)
        self.assertEqual((self.scratch / "out/step.txt").read_text().count("no plan"), 1)

    def test_a_first_start_that_takes_too_long_does_not_lose_our_row(self):
        """As the first start on a device, which finds plans for longer than it may: the next finds them."""
        counter = self.scratch / "count"
        self.fake.script(
            "bench_gpu_train_step",
            f"n=$(cat {counter} 2>/dev/null || echo 0); echo $((n + 1)) >{counter}\n"
            f"[ $n -lt 2 ] && sleep 100\necho '{result(300, 800)}'",
        )
        limits = {"FIRST_LIMIT = 300.0": "FIRST_LIMIT = 1.0", "OURS_LIMIT = 120.0": "OURS_LIMIT = 1.0"}
        code = self.run_suite("step", "--only", AMP, changed={"suite/step.py": limits})
        self.assertEqual(code, 0, self.said)
        row = self.report["step"][AMP]
        self.assertEqual(row["summary"]["ours"]["rounds"], 5)  # of six: the first was cut, too
        self.assertGreaterEqual(row["first_start_s"], 1)
        self.assertNotIn("failed", row)

    def test_our_row_that_never_comes_is_a_failure(self):
        self.fake.script("bench_gpu_train_step", "sleep 100")
        limits = {"FIRST_LIMIT = 300.0": "FIRST_LIMIT = 1.0", "OURS_LIMIT = 120.0": "OURS_LIMIT = 1.0"}
        code = self.run_suite("step", "--only", AMP, "--rounds", "1", changed={"suite/step.py": limits})
        self.assertEqual(code, 1, self.said)
        self.assertIn(f"{AMP}, ours: FAILED, no result within 1 s", self.text)
        self.assertEqual(self.summary()["eager"]["rounds"], 1)

    def test_a_doctor_that_finds_fault_stops_no_part(self):
        self.fake.doctor(DOCTOR, code=1)
        self.assertEqual(self.run_suite("doctor", "step", "--only", AMP), 0, self.said)
        self.assertEqual(self.report["machine"]["device"], "NVIDIA Fake")

    def test_where_the_doctor_says_nothing_the_driver_is_asked(self):
        self.fake.script("troupe", "echo it crashed >&2; exit 1")
        self.fake.script("nvidia-smi", "echo 'NVIDIA H200, 580.00, 143771 MiB'")
        self.assertEqual(self.run_suite("doctor", "step", "--only", AMP), 1, self.said)
        self.assertEqual(self.report["machine"]["device"], "NVIDIA H200")
        self.assertEqual(self.report["parts"]["step"]["state"], "ok")
        self.assertIn("exit code 1: it crashed", self.report["parts"]["doctor"]["why"])

    def test_libraries_beside_the_python_that_is_named_are_found(self):
        place = self.fake.libraries(self.scratch / "site/nvidia/cudnn/lib")
        self.fake.python(libraries=json.dumps({"libraries": [str(place)]}))
        line = result(300, 800).replace("}", ', "places": "$TROUPE_CUDA_LIBRARIES"}').replace('"', '\\"')
        self.fake.script("bench_gpu_train_step", f'echo "{line}"')
        code = self.run_suite("step", "--only", AMP, "--rounds", "1", TROUPE_CUDA_LIBRARIES="")
        self.assertEqual(code, 0, self.said)
        self.assertEqual(self.report["step"][AMP]["runs"]["ours"][0]["places"], str(place))

    def test_a_compiler_that_takes_too_long_costs_only_its_own_row(self):
        self.fake.python(compile="sleep 100")
        start = time.monotonic()
        self.assertEqual(self.run_suite("step", "--only", AMP, "--compile-limit", "1"), 1)
        self.assertLess(time.monotonic() - start, 60)
        row = self.report["step"][AMP]
        self.assertEqual(row["failed"]["compile"], "no result within 1 s")
        self.assertEqual(row["summary"]["best_peer"], "fused")

    def test_where_tuning_fails_the_compiler_without_it_takes_its_place(self):
        self.fake.python(compile="exit 9", graphs=self.fake.serve(140, 900))
        self.assertEqual(self.run_suite("step", "--only", AMP), 1)
        self.assertEqual(self.summary()["best_peer"], "graphs")
        self.assertIn("| 140.0 (graphs) |", self.text)

    def test_rows_without_time_are_left_out_and_are_no_failure(self):
        self.assertEqual(self.run_suite("step", "--limit", "step=5"), 0)
        self.assertEqual(self.report["step"][AMP]["left_out"]["eager"], "no time left")
        self.assertNotIn("summary", self.report["step"][AMP])
        self.assertIn("not measured", self.text)

    def test_tests_are_counted_and_the_failed_are_named(self):
        self.assertEqual(self.run_suite("tests"), 0)
        tests = self.report["tests"]["troupe_gpu_tests"]
        self.assertEqual((tests["passed"], tests["failed"]), (18, 0))  # two in each of eight shards, two that run alone
        self.fake.script("troupe_gpu_tests", f"cat <<'END'{RED}END\nexit 1")
        self.assertEqual(self.run_suite("tests"), 1)
        tests = self.report["tests"]["troupe_gpu_tests"]
        self.assertEqual((tests["passed"], tests["failed"], tests["skipped"]), (18, 9, 9))
        long_name = "a test with a name so long that it has to be broken into two lines because of its length"
        self.assertEqual(set(tests["failures"]), {long_name})
        self.assertEqual(set(tests["skips"]), {"another: needs two devices"})
        self.assertEqual(tests["troubles"], [])

    def test_a_crash_and_a_hang_cost_one_shard_each(self):
        self.fake.script(
            "troupe_gpu_tests",
            'case "$4" in 0) kill -SEGV $$ ;; 1) sleep 100 ;; '
            '*) echo "All tests passed (1 assertion in 1 test case)" ;; esac',
        )
        self.assertEqual(self.run_suite("tests", "--limit", "tests=8"), 1)
        tests = self.report["tests"]["troupe_gpu_tests"]
        self.assertEqual(tests["passed"], 6)
        self.assertEqual(len(tests["troubles"]), 3)
        self.assertIn("tests that run alone: no time left", tests["troubles"])
        self.assertRegex(" ".join(tests["troubles"]), "shard 1 of 8: (signal SIGSEGV|exit code 139)")
        self.assertRegex(" ".join(tests["troubles"]), "shard 2 of 8: cut")

    def test_without_a_gpu_every_part_fails_and_says_why(self):
        self.fake.doctor(WITHOUT_GPU)
        self.assertEqual(self.run_suite(), 1)
        reasons = {part["why"] for part in self.report["parts"].values()}
        self.assertEqual(reasons, {"no CUDA device on this machine"})
        self.assertLessEqual(len(list((self.scratch / "out").iterdir())), 8)

    def test_epochs_are_skipped_without_the_data_and_fail_with_other_data(self):
        self.assertEqual(self.run_suite("epochs"), 0)
        self.assertEqual(self.report["parts"]["epochs"]["state"], "skipped")
        self.assertIn("no CIFAR-10 in", self.report["parts"]["epochs"]["why"])
        self.make_data()
        self.assertEqual(self.run_suite("epochs"), 1)
        self.assertIn("recorded checksum", self.report["parts"]["epochs"]["why"])

    def test_epochs_compare_seconds_an_epoch(self):
        sums = self.make_data()
        summary = {"epochs": 2, "seconds": 0.5, "accuracy": 0.5, "samples_per_second": 9.0}
        summary["workers"] = [{"peak_memory_bytes": 2**30}]
        self.fake.doctor(DOCTOR, train="sleep 1;" + self.fake.write_summary(summary))
        line = '{"epochs": %d, "accuracy": 0.4, "peak_memory_mib": 2048}'
        self.fake.python(epochs=f"sleep 1; echo '{line % 1}'; sleep 3; echo '{line % 2}'")
        self.assertEqual(self.run_suite("epochs", "--epochs", "2", "--only", "amp", sums=sums), 0, self.said)
        row = self.report["epochs"]["epochs-amp_fp16"]
        self.assertEqual(row["results"]["ours"]["peak_memory_mib"], 1024)
        self.assertEqual(row["results"]["workers"]["epochs"], 2)
        self.assertGreater(row["summary"]["ratio_workers"], 1.2)
        self.assertEqual(set(row["results"]), {"ours", "workers", "gpu"})

    def test_an_interrupted_run_leaves_what_was_measured(self):
        mine = self.scratch / "pid"
        self.fake.python(compile=f"echo $$ >{mine}; sleep 100")
        program = self.start("step", "--only", AMP)
        self.wait_for(lambda: "--variant compile" in (self.scratch / "out/step.txt").read_text())
        program.send_signal(signal.SIGTERM)
        said = program.communicate(timeout=60)[0]
        self.assertEqual(program.returncode, 1, said)
        self.assertIn("interrupted", said)
        started = mine.read_text().split() if mine.exists() else []
        for pid in started:  # they end, too
            self.wait_for(lambda place=pathlib.Path("/proc", pid): not place.exists())
        report = json.loads((self.scratch / "out/report.json").read_text())
        self.assertEqual(report["parts"]["step"]["state"], "INTERRUPTED")
        self.assertEqual(report["step"][AMP]["summary"]["ratio_eager"], 3.0)

    def test_dry_run_starts_nothing_and_writes_nothing(self):
        self.assertEqual(self.run_suite("--dry-run"), 0)
        options = "--model resnet50 --size 224 --batch 128 --precision amp_fp16"
        self.assertIn(f"gpu_train_step.py {options}", self.said)
        self.assertFalse((self.scratch / "out").exists())

    def test_wrong_words_exit_with_2(self):
        self.assertEqual(self.run_suite("stpe"), 2)
        self.assertEqual(self.run_suite("--limit", "step"), 2)
        self.assertEqual(self.run_suite("--only", "("), 2)


load_tests = beside

if __name__ == "__main__":
    unittest.main()
