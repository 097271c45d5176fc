"""bench/gpu/run --first with programs that only pretend: its order, its time, its files, the plans it keeps."""

import json
import re
import signal
import sys
import tarfile
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import RATES, result  # noqa: E402
from gpu_run_fixture import GPT2, GpuRunCase, beside  # noqa: E402

PARTS = ["doctor", "kernels", "engines", "host_waits", "resnet18", "resnet50", "gpt2"]
STARTS = ["resnet18 first", "resnet18 again", "resnet50 first", "resnet50 again", "resnet50 basic", "gpt2 first"]
PLANS = {f"{digit * 32}.json" for digit in "123"}
NODE = {"name": "linear", "output": "a", "unit": "h.0", "us": 20, "operations": 7.9e9, "operation_class": "narrow", "bytes": 4.3e6}
FILES = {"report.md", "report.json", "doctor.txt", "tests.txt", "start.txt", "plans.tar.gz"}
STARTER = "bench_gpu_train_step"


class FirstRun(GpuRunCase):
    def setUp(self):
        super().setUp()
        self.searching()

    def searching(self, before="", seconds=0):
        """Our program: searches where the cache has no plan of the model, and leaves one there. `before`: the
        first thing it does; seconds that a search takes.
        """
        known = result(300, 800, loss=7.0, device="NVIDIA H200", startup={"graph": 0.5})
        profiled = result(300, 800, loss=7.0, device="NVIDIA H200", profile=[NODE], rates=RATES)
        self.fake.script(
            STARTER,
            f"""
            {before}
            case "$*" in *resnet18*) digit=1 ;; *resnet50*) digit=2 ;; *) digit=3 ;; esac
            name=$(printf '%032d' 0 | tr 0 $digit)
            cache=$XDG_CACHE_HOME/troupe/cudnn
            if [ ! -e $cache/$name.json ]; then
              mkdir -p $cache
              echo 'plan of a convolution: eng62, 5.0 us (0.4 s, 8 candidates, 0 compiled)' >&2
              echo '{{"tag": "eng62"}}' >$cache/$name.json
              sleep {seconds}
            fi
            case "$*" in *basic*) echo '{result(200, 900)}' ;; *--profile*) echo '{profiled}' ;; *) echo '{known}' ;; esac
            """,
        )

    def file_names(self):
        return {path.name for path in (self.scratch / "out").iterdir()}

    def plans(self):
        with tarfile.open(self.scratch / "out/plans.tar.gz") as archive:
            return {name.removeprefix("troupe/cudnn/") for name in archive.getnames()}

    def failed(self):
        return [name for name, state in self.states().items() if state == "FAILED"]

    def test_everything_in_its_order_in_eight_files_at_most(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        self.assertEqual(list(self.report["parts"]), PARTS)
        self.assertEqual(self.file_names(), FILES)
        starts = self.report["start"]
        self.assertEqual(list(starts), STARTS)
        self.assertEqual([start["searches"] for start in starts.values()], [1, 0, 1, 0, 0, 1])
        speeds = [start.get("images_per_second") for start in starts.values()]
        self.assertEqual(speeds, [300, 300, 300, 300, 200, None])
        self.assertEqual(starts["gpt2 first"]["tokens_per_second"], 300000)
        self.assertRegex((self.scratch / "out/start.txt").read_text(), r"(?m)^ +\d+\.\d\d s  plan of a convolution")
        self.assertEqual(self.plans(), PLANS)

    def test_values_are_checked_before_any_speed(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        counts = {name: found["passed"] for name, found in self.report["tests"].items()}
        self.assertEqual(counts, {"kernels": 12, "engines": 2})  # two a process
        log = (self.scratch / "out/tests.txt").read_text()
        files = re.findall(r"troupe_gpu_tests '-#' '\[#(\w+)\]'", log)
        wanted = ["kernels_test", "flat_kernels_test", "language_kernels_test", "matmul_plan_registry_test", "column_sums_test"]
        self.assertEqual(files, [*wanted, "cudnn_patterns_device_test"])
        self.assertNotIn("--allow-running-no-tests", log)  # a file that is gone must be seen
        self.assertEqual(self.report["host_waits"]["held_up"], [])
        self.assertEqual(self.report["machine"]["PyTorch"], "9.9")

    def test_the_language_model_has_a_roofline(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        self.assertIn(f"## Roofline of {GPT2}", self.text)
        self.assertIn("| h.0 | linear | a | 20.0 | 4.3 | 7.9 | 0.05 | 0.50 | 10.0 | 0.50 |", self.text)
        self.assertIn("--warmup 3 --least-steps 10 --seconds 0 --profile", (self.scratch / "out/start.txt").read_text())

    def test_the_time_of_all_is_kept_whatever_hangs(self):
        for name in (STARTER, "troupe", "troupe_gpu_tests", "bench_gpu_host_waits", "python"):
            self.fake.script(name, "sleep 1000")
        change = {"suite/libraries.py": {"ASK_LIMIT = 12.0": "ASK_LIMIT = 2.0"}}
        begin = time.monotonic()
        self.assertEqual(self.run_suite("--first", "--total", "60", changed=change), 1)
        # What hangs ends at SIGTERM, or is killed within a few seconds.
        self.assertLess(time.monotonic() - begin, 60 + 15)
        self.assertEqual(self.failed(), PARTS)
        for part in self.report["parts"].values():  # each had its share
            self.assertNotEqual(part["why"], "no time left")
        self.assertIn("not known", self.report["machine"]["PyTorch"])

    def test_a_part_that_fails_takes_no_other_along(self):
        lost = {"troupe": ["doctor"], "python": [], "bench_gpu_host_waits": ["host_waits"]}
        lost |= {"troupe_gpu_tests": ["kernels", "engines"], STARTER: ["resnet18", "resnet50", "gpt2"]}
        for program, parts in lost.items():
            with self.subTest(program):
                good = (self.fake.path / program).read_text()
                self.fake.script(program, "echo broken >&2; exit 7")
                self.assertEqual(self.run_suite("--first"), 1 if parts else 0, self.said)
                self.assertEqual(list(self.report["parts"]), PARTS)
                self.assertEqual(self.failed(), parts)
                (self.fake.path / program).write_text(good)

    def test_a_mistake_of_our_own_takes_no_other_part_along(self):
        change = {"suite/start.py": {"        troubles = []\n": "        troubles = {}[0]\n"}}
        self.assertEqual(self.run_suite("--first", changed=change), 1)
        self.assertEqual(self.failed(), ["resnet18", "resnet50", "gpt2"])
        self.assertIn("KeyError", self.report["parts"]["gpt2"]["why"])

    def test_wrong_values_and_losses_are_failures(self):
        self.fake.script("troupe_gpu_tests", "cat <<'END'\ntest cases: 2 | 1 passed | 1 failed\nEND\nexit 1")
        self.fake.script(STARTER, f"echo '{result(300, 800, loss=None)}'")
        self.assertEqual(self.run_suite("--first"), 1)
        self.assertEqual(self.failed(), ["kernels", "engines", "resnet18", "resnet50", "gpt2"])
        self.assertIn("not green: engines", self.report["parts"]["engines"]["why"])
        self.assertIn("the loss is not finite", self.report["parts"]["gpt2"]["why"])

    def test_plans_are_taken_back_by_the_next_run(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        file = self.scratch / "plans.tar.gz"
        (self.scratch / "out/plans.tar.gz").rename(file)
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertEqual({start["searches"] for start in self.report["start"].values()}, {0})
        self.assertEqual(self.report["machine"]["plans"], f"3 taken from {file}")
        self.assertEqual(self.plans(), PLANS)

    def test_a_file_that_has_no_plans_only_costs_time(self):
        file = self.scratch / "plans.tar.gz"
        file.write_text("nothing of the kind")
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertIn("none taken from", self.report["machine"]["plans"])
        with tarfile.open(file, "w:gz") as archive:
            archive.add(__file__, "../outside.json")
            archive.add(__file__, "troupe/cudnn/not-a-plan.json")
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertIn("0 taken from", self.report["machine"]["plans"])
        self.assertEqual(self.run_suite("--first", "--plans", self.scratch / "missing"), 2)

    def test_what_was_found_is_there_while_a_search_goes_on(self):
        """The machine may be cut off at any moment: nothing waits for the end."""
        self.searching(seconds=1000)
        program = self.start("--first")
        file = self.scratch / "out/plans.tar.gz"
        self.wait_for(file.exists)
        program.send_signal(signal.SIGKILL)
        program.communicate()
        self.end_the_orphans()
        self.assertEqual(len(self.plans()), 1)
        report = json.loads((self.scratch / "out/report.json").read_text())
        self.assertEqual(report["parts"]["resnet18"]["state"], "running")


load_tests = beside

if __name__ == "__main__":
    unittest.main()
