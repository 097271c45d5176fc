"""The parts epochs and compare of bench/gpu/run with programs that only pretend: missing data, tables, rows."""

import os
import shlex
import sys
import unittest

sys.dont_write_bytecode = True
from fake_programs import COMPARED, DOCTOR  # noqa: E402
from gpu_run_fixture import GpuRunCase, beside  # noqa: E402

MODES = ["single-fp32", "single-fp16", "single-amp_fp16", *(f"{it}-fp32" for it in ("dp", "ddp"))]
MODES += [f"zero{stage}-fp32" for stage in (1, 2, 3)]


class Epochs(GpuRunCase):
    def test_missing_and_damaged_files_are_named_with_the_way_to_go_on(self):
        self.change_suite({}, self.make_data())
        (self.scratch / "data/data_batch_2.bin").unlink()
        (self.scratch / "data/data_batch_4.bin").write_text("half of it")
        for part in ("epochs", "compare"):
            with self.subTest(part):
                self.assertEqual(self.run_suite(part), 0, self.said)
                found = self.report["parts"][part]
                self.assertEqual(found["state"], "skipped")
                self.assertIn("data_batch_2.bin missing; damaged: data_batch_4.bin; copy ", found["why"])
                self.assertIn("| data_batch_1.bin | there |", self.text)
                self.assertIn("| data_batch_2.bin | missing |", self.text)
                self.assertIn("| data_batch_4.bin | damaged, 10 bytes |", self.text)
        (self.scratch / "data/data_batch_2.bin").write_text("data_batch_2.bin")
        self.assertEqual(self.run_suite("epochs"), 1)
        self.assertIn("without the recorded checksum", self.report["parts"]["epochs"]["why"])

    def test_with_all_files_it_trains(self):
        sums = self.make_data()
        summary = {"epochs": 5, "seconds": 0.5, "accuracy": 0.5, "samples_per_second": 9.0}
        summary["workers"] = [{"peak_memory_bytes": 2**30}]
        self.fake.doctor(DOCTOR, train="sleep 1;" + self.fake.write_summary(summary))
        self.fake.python(epochs="echo '{\"epochs\": 5, \"accuracy\": 0.4, \"peak_memory_mib\": 2048}'")
        self.assertEqual(self.run_suite("epochs", sums=sums), 0, self.said)
        self.assertEqual(list(self.report["epochs"]), ["epochs-amp_fp16", "epochs-fp32"])


class Compare(GpuRunCase):
    def test_the_table_is_in_the_report_as_it_is(self):
        sums = self.make_data()
        self.fake.doctor(DOCTOR, compare=self.fake.compares())
        self.assertEqual(self.run_suite("compare", sums=sums), 0, self.said)
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
        self.assertEqual(self.run_suite("compare", sums=sums, changed=change), 1, self.said)
        found = self.report["compare"]
        self.assertEqual(found["failed"]["zero1-fp32"], "did not end within 4 s")
        self.assertEqual(set(MODES) - set(found["lines"]), {"zero1-fp32", *(m for m in MODES if "dp-" in m)})
        self.assertIn("zero1-fp32: FAILED, did not end within 4 s", self.text)

    def test_its_commands_are_those_of_the_reference_comparison(self):
        self.assertEqual(self.run_suite("compare", "--dry-run"), 0)
        commands = [shlex.split(line) for line in self.said.splitlines() if not line.startswith("#")]
        self.assertEqual([f"{it[4]}-{it[6]}" for it in commands], MODES)
        for words in commands:
            self.assertIn("devices.count=2", words)
            self.assertTrue(os.path.isfile(words[2]), words)


load_tests = beside

if __name__ == "__main__":
    unittest.main()
