"""The part sanitizer of bench/gpu/run with programs that only pretend: what is clean, what is found, what is
skipped and why.
"""

import sys
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import EMULATED  # noqa: E402
from gpu_run_fixture import GpuRunCase, beside  # noqa: E402


class Sanitizer(GpuRunCase):
    def sanitizer(self, tool):
        return self.report["sanitizer"][tool]

    def test_clean_tests_under_three_tools(self):
        self.fake.sanitizer()
        self.assertEqual(self.run_suite("sanitizer"), 0, self.said)
        for tool in ("memcheck", "racecheck", "synccheck"):
            # two tests of each of seven files
            self.assertEqual(len(self.sanitizer(tool)["clean"]), 14, self.text)
            self.assertRegex(self.text, rf"\| {tool} \| 14 \| 0 \| 0 \| 0 \|")
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
        self.assertEqual(self.run_suite("sanitizer"), 1, self.said)
        test = "relu, and [more] of augment_test"
        found = self.sanitizer("racecheck")["findings"]
        first = "Error: Race reported between Write access at sum_kernel+0x10"
        self.assertEqual(found, {test: {"count": 1, "first": [first]}})
        self.assertEqual(len(self.sanitizer("racecheck")["clean"]), 13)
        self.assertEqual(len(self.sanitizer("synccheck")["clean"]), 14)
        self.assertEqual(self.report["parts"]["sanitizer"]["why"], "not clean: racecheck")
        self.assertIn(f"racecheck: FAILED {test}: 1 findings: {first}", self.text)

    def test_a_crash_and_a_hang_cost_a_test_each(self):
        self.fake.sanitizer(
            'case "$*" in *memcheck*casts*augment*) kill -SEGV $$ ;; *memcheck*casts*flat*) sleep 100 ;; '
            "*memcheck*casts*ops*) echo 'troupe: no room'; exit 3 ;; esac"
        )
        change = {"suite/sanitizer.py": {"TEST_LIMIT = 120.0": "TEST_LIMIT = 3.0"}}
        self.assertEqual(self.run_suite("sanitizer", changed=change), 1, self.said)
        failed = self.sanitizer("memcheck")["failed"]
        self.assertEqual(failed["casts of flat_kernels_test"], "no end within 3 s")
        self.assertRegex(failed["casts of augment_test"], "signal SIGSEGV|exit code 139")
        self.assertEqual(failed["casts of ops_test"], "exit code 3: troupe: no room")
        self.assertEqual(len(self.sanitizer("memcheck")["clean"]), 11)

    def test_each_tool_has_its_share_of_the_time(self):
        self.fake.sanitizer("sleep 100")
        begin = time.monotonic()
        self.run_suite("sanitizer", "--total", "20")
        self.assertLess(time.monotonic() - begin, 20 + 25)
        for tool in ("memcheck", "racecheck", "synccheck"):
            self.assertEqual(len(self.sanitizer(tool)["left_out"]), 14)
            self.assertGreater(self.sanitizer(tool)["seconds"], 1)
        self.assertIn("racecheck, no time left for: casts of kernels_test; ", self.text)

    def test_it_is_skipped_where_it_is_not_and_on_an_emulated_device(self):
        where = {"CUDA_HOME": str(self.scratch / "cuda")}
        change = {"suite/sanitizer.py": {'["/usr/local/cuda"]': "[]"}}
        self.assertEqual(self.run_suite("sanitizer", changed=change, **where), 0, self.said)
        part = self.report["parts"]["sanitizer"]
        self.assertEqual(part["state"], "skipped")
        self.assertIn(f"no compute-sanitizer in the search path, beside nvcc or below {where['CUDA_HOME']}", part["why"])
        self.fake.sanitizer()
        self.fake.doctor(EMULATED)
        self.fake.script("troupe_cudnn_tests", "exit 1")
        self.assertEqual(self.run_suite("tests", "sanitizer"), 0, self.said)
        self.assertIn("emulated device", self.report["parts"]["sanitizer"]["why"])
        self.assertIn("troupe_cudnn_tests: skipped all: they ask the real cuDNN", self.text)

    def test_it_is_found_beside_the_toolkit(self):
        folder = self.scratch / "cuda/extras/compute-sanitizer"
        folder.mkdir(parents=True)
        self.fake.sanitizer()
        (self.fake.path / "compute-sanitizer").rename(folder / "compute-sanitizer")
        self.assertEqual(self.run_suite("sanitizer", CUDA_HOME=str(self.scratch / "cuda")), 0, self.said)
        self.assertEqual(len(self.sanitizer("memcheck")["clean"]), 14)

    def test_a_log_is_bounded(self):
        noise = "for i in 1 2 3 4 5 6 7 8; do head -c 40000 /dev/zero | tr '\\\\0' x | fold -w 100; echo; done; echo the last"
        self.fake.sanitizer(noise)
        change = {"suite/logs.py": {"12 * 2**20": "2**20", "TAIL = 2**20": "TAIL = 2**16"}}
        self.assertEqual(self.run_suite("sanitizer", changed=change), 0, self.said)
        log = self.scratch / "out/sanitizer.txt"
        self.assertLess(log.stat().st_size, 1.2 * 2**20)
        text = log.read_text()
        self.assertRegex(text, r"\[\d+ characters are left out here\]")
        self.assertIn("the last", text[-2000:])


load_tests = beside

if __name__ == "__main__":
    unittest.main()
