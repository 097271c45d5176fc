"""tools/chaos at a few of its points; and that it fails where it should."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHAOS = pathlib.Path(__file__).resolve().parents[2] / "tools/chaos"
BUILD = sys.argv.pop() if len(sys.argv) > 1 else CHAOS.parents[1] / "build/release"
NOT_HERE = 77


def chaos(*arguments):
    """Logs of what fails go with the folder."""
    with tempfile.TemporaryDirectory(prefix="troupe-chaos-") as folder:
        words = [sys.executable, CHAOS, "--build", BUILD, *arguments]
        return subprocess.run(words, env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True, check=False)


class Chaos(unittest.TestCase):
    def test_the_job_goes_on_exactly(self):
        # One that others are a step ahead of, one that dies in the recovery, one that dies while it joins.
        ended = chaos("--point", "in vote", "--point", "keep", "--point", "lead", "--point", "fetch")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(ended.stdout.count(" equal "), 4)

    def test_the_leader_is_lost_or_stopped(self):
        ended = chaos("--point", "in vote", "--point", "stop: checkpoint", "--point", "stop: take over", "--victim", "0")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(ended.stdout.count(" equal "), 3)

    def test_a_point_that_is_not_reached(self):
        ended = chaos("--point", "reduce-scatter", "--strategy", "ddp")  # which has none
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertIn("before it came to its point", ended.stdout)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(NOT_HERE)
    unittest.main()
