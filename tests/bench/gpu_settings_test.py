"""The real program accepts the settings of the trainings that bench/gpu/run starts.

Usage: gpu_settings_test.py TROUPE
"""

import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUPE = sys.argv.pop(1)


def commands(*words):
    """What troupe is given."""
    with tempfile.TemporaryDirectory(prefix="troupe-gpu-settings-") as folder:
        command = [sys.executable, "-B", ROOT / "bench/gpu/run", folder, "--dry-run", *words]
        plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [shlex.split(line) for line in plan.splitlines() if not line.startswith("#")]
    return [line[1:] for line in lines if line[0].endswith("/troupe")]


def config_of(arguments):
    """Config and changes: of `troupe compare` with those that it makes for the row."""
    if arguments[0] == "train":
        return arguments[1:]
    _, config, _, strategy, _, precision, *rest = arguments
    count = ["--set", "devices.count=1"] if strategy == "single" else []
    changes = ["--set", f"parallel.strategy={strategy}", "--set", f"precision.mode={precision}"]
    return [config, *rest[2:], *changes, *count]


class Settings(unittest.TestCase):
    def test_every_training_is_valid(self):
        for words in (["epochs"], ["epochs", "--tiny"], ["compare"], ["compare", "--tiny"]):
            found = commands(*words)
            self.assertGreaterEqual(len(found), 2)
            for arguments in found:
                # Whether this machine has a GPU is another question.
                command = [TROUPE, "config", "check", *config_of(arguments), "--set", "devices.kind=cpu"]
                ended = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
