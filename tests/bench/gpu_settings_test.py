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


def trainings(*words):
    """What `troupe train` is given."""
    with tempfile.TemporaryDirectory(prefix="troupe-gpu-settings-") as folder:
        command = [sys.executable, "-B", ROOT / "bench/gpu/run", folder, "epochs", "--dry-run", *words]
        plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [shlex.split(line) for line in plan.splitlines() if not line.startswith("#")]
    return [line[2:] for line in lines if line[0].endswith("/troupe")]


class Settings(unittest.TestCase):
    def test_every_training_is_valid(self):
        for words in ([], ["--tiny"]):
            found = trainings(*words)
            self.assertGreaterEqual(len(found), 2)
            for arguments in found:
                # Whether this machine has a GPU is another question.
                command = [TROUPE, "config", "check", *arguments, "--set", "devices.kind=cpu"]
                ended = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
