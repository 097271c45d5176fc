"""bench/precision with the real program: every mode is trained, or refused with the reason.

Usage: precision_test.py BUILD
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1))


class Precision(unittest.TestCase):
    def run_bench(self, *words):
        with tempfile.TemporaryDirectory(prefix="troupe-precision-") as scratch:
            output = pathlib.Path(scratch) / "table"
            command = [sys.executable, "-B", ROOT / "bench/precision", "--build", BUILD]
            command += ["--config", ROOT / "configs/debug.yaml", "--output", output, *words]
            ended = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            files = [output.with_suffix(kind) for kind in (".md", ".json")]
            return ended, *(file.read_text() if file.exists() else "" for file in files)

    def test_modes_are_trained_in_turns_or_refused_with_the_reason(self):
        ended, table, found = self.run_bench(
            *("--modes", "fp32,tf32,amp_fp16", "--rounds", "2"),
            *("--set", "train.max_steps=4", "--set", "devices.kind=cpu"),
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout, table)
        modes = json.loads(found)["modes"]
        self.assertIn("tf32 requires a CUDA device", modes["tf32"]["refused"])
        for mode in ("fp32", "amp_fp16"):
            self.assertEqual(len(modes[mode]["rounds"]), 2)
            self.assertGreater(modes[mode]["median"]["samples_per_second"], 0)
            self.assertIn(f"\n| {mode} | ", table)
        memory = [modes[mode]["median"]["activation_bytes"] for mode in ("fp32", "amp_fp16")]
        self.assertLess(memory[1], memory[0])

    def test_a_config_that_is_wrong_in_itself_ends_it(self):
        ended, table, _ = self.run_bench("--set", "train.epochs=none")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("train.epochs", ended.stderr)
        self.assertEqual(table, "")


if __name__ == "__main__":
    unittest.main()
