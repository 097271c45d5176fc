"""bench/gpu/run --first with programs that only pretend: its order, its time, its files, the plans it keeps."""

import json
import signal
import sys
import tarfile
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import result  # noqa: E402
from gpu_run_fixture import AMP, GpuRunCase, beside  # noqa: E402

PLAN = "0123456789abcdef0123456789abcdef.json"
NODE = {"name": "conv2d", "output": "a", "unit": "stem", "us": 20, "operations": 7.9e9, "bytes": 4.3e6}
FILES = {"report.md", "report.json", "start.txt", "doctor.txt", "step.txt", "trace.txt", "plans.tar.gz"}


class FirstRun(GpuRunCase):
    def setUp(self):
        super().setUp()
        self.searching()

    def searching(self, before="", seconds=0):
        """Our program: searches where the cache has no plan, and leaves one there. `before`: what it does
        first; seconds that a search takes.
        """
        known = result(300, 800, idle_ratio=0.01, device="NVIDIA H200", profile=[NODE], startup={"graph": 0.5})
        self.fake.script(
            "bench_gpu_train_step",
            f"""
            {before}
            cache=$XDG_CACHE_HOME/troupe/cudnn
            if [ ! -e $cache/{PLAN} ]; then
              mkdir -p $cache
              echo 'plan of a convolution: eng62, 5.0 us (0.4 s, 8 candidates, 0 compiled)' >&2
              echo '{{"tag": "eng62"}}' >$cache/{PLAN}
              sleep {seconds}
            fi
            case "$*" in *basic*) echo '{result(200, 900)}' ;; *) echo '{known}' ;; esac
            """,
        )

    def file_names(self):
        return {path.name for path in (self.scratch / "out").iterdir()}

    def test_everything_in_its_order_in_eight_files_at_most(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        self.assertEqual(list(self.report["parts"]), ["start", "doctor", "step", "trace"])
        self.assertEqual(self.file_names(), FILES)
        starts = self.report["start"]
        self.assertEqual(list(starts), ["first", "again", "basic"])
        self.assertEqual([start["searches"] for start in starts.values()], [1, 0, 0])
        self.assertEqual([start["images_per_second"] for start in starts.values()], [300, 300, 200])
        self.assertRegex((self.scratch / "out/start.txt").read_text(), r"(?m)^ +\d+\.\d\d s  plan of a convolution")
        self.assertEqual(list(self.report["step"]), [AMP])
        self.assertEqual(self.report["step"][AMP]["summary"]["best_peer"], "compile")
        self.assertEqual(self.report["machine"]["PyTorch"], "9.9")
        self.assertIn("| stem | conv2d | a | 20.0 | 4.3 | 7.9 | 0.05 | 0.50 | 10.0 | 0.50 |", self.text)
        self.assertIn("| first | ", self.text)

    def test_the_time_of_all_is_kept_whatever_hangs(self):
        self.fake.script("bench_gpu_train_step", "sleep 1000")
        self.fake.script("troupe", "sleep 1000")
        self.fake.python(eager="sleep 1000", fused="sleep 1000", compile="sleep 1000")
        begin = time.monotonic()
        self.assertEqual(self.run_suite("--first", "--total", "30"), 1)
        # What hangs ends at SIGTERM, or is killed within a few seconds.
        self.assertLess(time.monotonic() - begin, 30 + 25)
        for part in ("start", "doctor", "trace"):  # each had its share
            self.assertEqual(self.report["parts"][part]["state"], "FAILED")
            self.assertNotEqual(self.report["parts"][part]["why"], "no time left")

    def test_a_part_that_fails_takes_no_other_along(self):
        for failing in ("bench_gpu_train_step", "troupe", "python"):
            with self.subTest(failing):
                self.fake.python()
                self.fake.doctor({"cuda": {"device 0": {"value": "NVIDIA Fake"}}})
                self.searching()
                self.fake.script(failing, "echo broken >&2; exit 7")
                self.assertEqual(self.run_suite("--first"), 1, self.said)
                states = {name: part["state"] for name, part in self.report["parts"].items()}
                self.assertEqual(len(states), 4)
                if failing == "troupe":
                    self.assertEqual(states, {"start": "ok", "doctor": "FAILED", "step": "ok", "trace": "ok"})
                elif failing == "python":
                    self.assertEqual((states["start"], states["doctor"]), ("ok", "ok"))
                    self.assertEqual(self.report["step"][AMP]["summary"]["ours"]["rounds"], 3)
                    self.assertIn("roofline", self.report)  # ours, before PyTorch's
                else:
                    self.assertEqual(states["doctor"], "ok")
                    self.assertEqual(self.report["step"][AMP]["summary"]["eager"]["rounds"], 3)

    def test_a_mistake_of_our_own_takes_no_other_part_along(self):
        change = {"suite/start.py": {"    troubles = []\n": "    troubles = {}[0]\n"}}
        self.assertEqual(self.run_suite("--first", changed=change), 1)
        states = [part["state"] for part in self.report["parts"].values()]
        self.assertEqual(states, ["FAILED", "ok", "ok", "ok"])
        self.assertIn("KeyError", self.report["parts"]["start"]["why"])

    def test_plans_are_taken_back_by_the_next_run(self):
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        file = self.scratch / "plans.tar.gz"
        (self.scratch / "out/plans.tar.gz").rename(file)
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertEqual([start["searches"] for start in self.report["start"].values()], [0, 0, 0])
        self.assertEqual(self.report["machine"]["plans"], f"1 taken from {file}")
        with tarfile.open(self.scratch / "out/plans.tar.gz") as archive:
            self.assertEqual(archive.getnames(), [f"troupe/cudnn/{PLAN}"])

    def test_a_file_that_has_no_plans_only_costs_time(self):
        file = self.scratch / "plans.tar.gz"
        file.write_text("nothing of the kind")
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertIn("none taken from", self.report["machine"]["plans"])
        with tarfile.open(file, "w:gz") as archive:
            archive.add(__file__, "../outside.json")
            archive.add(__file__, f"troupe/cudnn/{PLAN[::-1]}")
        self.assertEqual(self.run_suite("--first", "--plans", file), 0, self.said)
        self.assertIn("0 taken from", self.report["machine"]["plans"])
        self.assertEqual(self.run_suite("--first", "--plans", self.scratch / "missing"), 2)

    def test_what_was_found_is_there_while_a_search_goes_on(self):
        """The machine may be cut off at any moment: nothing waits for the end."""
        self.searching(seconds=1000)
        program = self.start("--first")
        file = self.scratch / "out/plans.tar.gz"
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        program.send_signal(signal.SIGKILL)
        program.communicate()
        self.end_the_orphans()
        with tarfile.open(file) as archive:
            self.assertEqual(archive.getnames(), [f"troupe/cudnn/{PLAN}"])
        report = json.loads((self.scratch / "out/report.json").read_text())
        self.assertIn("start", report["parts"])


load_tests = beside

if __name__ == "__main__":
    unittest.main()
