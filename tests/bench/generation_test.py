"""generation_test.py BUILD: bench/compare_generation lets ours go on, beside a peer that says what a test wants."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = "In the beginning"
NEW = 8
SMALL = {
    "model.name": "gpt2-mini",
    "model.layers": 1,
    "model.width": 32,
    "model.heads": 2,
    "data.dataset": "text",
    "data.root": ROOT / "docs/architecture.md",
    "data.sequence_length": 16,
    "data.batch_size": 4,
    "train.max_steps": 3,
    "train.evaluate_every": 0,
    "devices.kind": "cpu",
    "devices.count": 1,
    "devices.threads_per_worker": 1,
    "metrics.listen": "off",
}


class Generation(unittest.TestCase):
    build = pathlib.Path()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-generation-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def troupe(self, *words):
        command = [str(word) for word in (self.build / "app/troupe", *words)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def small_run(self):
        config = self.scratch / "config.yaml"
        config.write_text("{}\n")
        own = {"run.name": "small", "run.output": self.scratch, "data.tokenizer.cache": self.scratch}
        settings = [word for key, value in (SMALL | own).items() for word in ("--set", f"{key}={value}")]
        self.troupe("train", config, "--quiet", *settings)
        return self.scratch / "small"

    def peer(self, tokens):
        """A program that gets the peer's script and its options, keeps them, and says these new tokens."""
        found = {"tokens": tokens, "first_seconds": len(PROMPT) / 1000, "next_seconds": (len(tokens) - 1) / 50}
        path = self.scratch / "peer"
        called = self.scratch / "called.json"
        path.write_text(f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv, open({str(called)!r}, 'w'))\nprint({json.dumps(found)!r})\n")
        path.chmod(0o755)
        return path

    def compare(self, tokens, *words):
        """How bench/compare_generation ends beside a peer that says these, the row of its table, and what the peer was called with."""
        command = [sys.executable, "-B", ROOT / "bench/compare_generation", "--build", self.build, "--peer", self.peer(tokens)]
        command += ["--rounds", 2, "--tokens", NEW, "--prompt", PROMPT, "--threads", 1, *words, self.scratch / "compared"]
        ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        self.assertEqual(ended.stderr, "")
        row = [cell.strip() for cell in ended.stdout.splitlines()[-1].split("|")[1:-1]]
        return ended.returncode, row, json.loads((self.scratch / "called.json").read_text())

    def tokens_of(self, run):
        words = [run, PROMPT, "--tokens", NEW, "--temperature", 0, "--json", "--set", "devices.threads_per_worker=1"]
        return json.loads(self.troupe("generate", *words))["tokens"]

    def test_the_same_tokens(self):
        run = self.small_run()
        tokens = self.tokens_of(run)
        code, row, _ = self.compare(tokens, "--run", run)
        self.assertEqual(code, 0)
        self.assertEqual(row[:2], ["small", f"{len(tokens)} of {len(tokens)}"])
        for ours, theirs, ratio, rate in ((*row[2:5], 50), (*row[5:8], 1000)):
            self.assertEqual(float(theirs), rate)
            self.assertGreater(float(ours), 0)
            self.assertAlmostEqual(float(ratio), float(ours) / rate, delta=0.01)

    def test_a_token_that_differs(self):
        run = self.small_run()
        tokens = self.tokens_of(run)
        code, row, _ = self.compare([*tokens[:-1], tokens[-1] + 1], "--run", run)
        self.assertEqual(code, 1)
        self.assertEqual(row[1], f"{len(tokens) - 1} of {len(tokens)}")

    def test_a_model_is_trained_and_written_for_the_peer(self):
        code, row, called = self.compare([-1] * NEW, "--only", "llama", "--steps", 1)
        self.assertEqual(code, 1)
        self.assertEqual(row[0], "llama-mini")
        self.assertRegex(row[1], "^0 of [1-9]")
        self.assertEqual(called[1], str(ROOT / "bench/peers/language_generate.py"))
        exported = pathlib.Path(called[2])
        self.assertEqual(json.loads((exported / "config.json").read_text())["model_type"], "llama")
        self.assertTrue((exported / "model.safetensors").exists())
        options = dict(zip(called[3::2], called[4::2], strict=True))
        self.assertEqual(options["--prompt"], ",".join(map(str, PROMPT.encode())))
        self.assertEqual((options["--tokens"], options["--threads"]), (str(NEW), "1"))


if __name__ == "__main__":
    Generation.build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
