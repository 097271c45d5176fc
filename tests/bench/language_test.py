"""language_test.py BUILD: bench/compare_language and bench/check_language train ours, beside a peer that says what a test wants."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["model.layers=1", "model.width=32", "model.heads=2"]
# What bench/check_language gives to both sides.
TRAINED = [*SMALL, "model.positions=16", "data.sequence_length=16", "data.batch_size=4", "train.max_steps=3"]
STEP = {"tokens_per_second": 10.0, "ms": 1600.0, "processor_ms": 3200.0, "peak_rss_mib": 1000}


def settings(pairs):
    return [word for pair in pairs for word in ("--set", pair)]


class Language(unittest.TestCase):
    build = pathlib.Path()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-language-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def peer(self, text):
        """A program that gets the peer's script and its options."""
        path = self.scratch / "peer"
        path.write_text(f"#!{sys.executable}\nimport json, sys\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def start(self, script, *words):
        command = [sys.executable, "-B", ROOT / "bench" / script, "--build", self.build, *words]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)

    def test_a_step_beside_a_peer_that_does_not_compile(self):
        peer = self.peer(f"print(json.dumps({{'problem': 'no compiler'}} if '--compile' in sys.argv else {STEP}))")
        words = ["--peer", peer, "--only", "mini-fp32", "--rounds", 1, "--seconds", 0.1, "--batch", 1, "--sequence", 16]
        ended = self.start("compare_language", *words, "--variants", "plain,plain+compile", *settings(SMALL))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("gpt2-mini-fp32: no plain+compile: no compiler", ended.stderr)
        cells = [cell.strip() for cell in ended.stdout.splitlines()[-1].split("|")[1:-1]]
        self.assertEqual(cells[0], "gpt2-mini-fp32, 1 x 16")
        self.assertEqual(cells[2], "10.0 (plain)")
        self.assertGreater(float(cells[1]), 10)
        self.assertAlmostEqual(float(cells[3]), float(cells[1]) / 10, delta=0.01)
        self.assertRegex(cells[5], r"^[1-9]\d* / 1000$")

    def test_a_run_that_fails_says_why(self):
        words = ["--peer", self.peer(""), "--only", "mini-fp32", "--set", "model.heads=5"]
        ended = self.start("compare_language", *words)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("5 heads do not divide a width of 384", ended.stderr)

    def check(self, loss):
        """bench/check_language, with a peer whose losses are those of a function of seed and config."""
        text = self.scratch / "text"
        text.write_text("In the beginning God created the heaven and the earth. " * 40)
        peer = self.peer(
            f"sys.path.insert(0, {str(ROOT / 'bench/peers')!r}); import run_config\n"
            f"config, seed = run_config.read(sys.argv[2]), int(sys.argv[4])\n"
            f"print(json.dumps({{'loss': {loss}, 'seconds': 1.0}}))"
        )
        words = [self.scratch / "runs", "--peer", peer, "--seeds", "1,2", "--threads", 1]
        return self.start("check_language", *words, *settings([*TRAINED, f"data.root={text}"]))

    def test_perplexities_that_are_far_apart(self):
        ended = self.check("seed * 0.01 + int(config['data.sequence_length']) / 16")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("NOT equal", ended.stdout)
        self.assertIn(f"| {math.exp(1.02):.4f} |", ended.stdout)

    def test_perplexities_within_the_noise_of_seeds(self):
        ended = self.check("{1: 2, 2: 6}[seed]")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("equal within the noise of seeds", ended.stdout)
        shown = json.loads((self.scratch / "runs/seed2/summary.json").read_text())
        self.assertEqual(shown["steps"], 3)


if __name__ == "__main__":
    Language.build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
