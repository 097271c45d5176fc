"""tools/test-emulated with a ctest that pretends: which seeds it runs with, and what it says of those that fail."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/test-emulated"
RESULTS = SCRIPT.parents[1] / "build/results/emulated"
PRETENDED = """#!/bin/sh
echo "${TROUPE_EMULATED_DELAYS:-none}/$TROUPE_EMULATED_DEVICES $*"
case " FAILING " in *" ${TROUPE_EMULATED_DELAYS:-none} "*) exit 8 ;; esac
"""


class EmulatedSeeds(unittest.TestCase):
    def run_with(self, seeds, failing=""):
        with tempfile.TemporaryDirectory(prefix="troupe-seeds-") as folder:
            ctest = pathlib.Path(folder) / "ctest"
            ctest.write_text(PRETENDED.replace("FAILING", failing))
            ctest.chmod(0o755)
            return subprocess.run([SCRIPT, seeds, ctest, "-j2"], capture_output=True, text=True, check=False)

    def test_every_seed_and_then_what_bears_no_delays(self):
        ended = self.run_with("3")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        delayed = [
            f"{seed}/2 -j2 --preset emulated --label-exclude ^timed$ --output-junit {RESULTS}/seed-{seed}.xml" for seed in (1, 2, 3)
        ]
        self.assertEqual(ended.stdout.splitlines(), [*delayed, f"none/2 -j2 --preset emulated --label-regex ^timed$ --output-junit {RESULTS}/timed.xml"])

    def test_one_seed_leaves_out_what_is_exhaustive(self):
        first = self.run_with("1").stdout.splitlines()[0]
        self.assertEqual(first, f"1/2 -j2 --preset emulated --label-exclude ^(timed|exhaustive)$ --output-junit {RESULTS}/seed-1.xml")

    def test_without_seeds_all_run_once_without_delays(self):
        ended = self.run_with("0")
        self.assertEqual((ended.returncode, ended.stdout), (0, f"none/2 -j2 --preset emulated --output-junit {RESULTS}/undelayed.xml\n"))

    def test_failing_seeds_are_named_with_how_to_repeat_them_and_the_others_run(self):
        ended = self.run_with("3", failing="1 3")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(len(ended.stdout.splitlines()), 4)
        last = ended.stderr.splitlines()[-2:]
        for seed, line in zip((1, 3), last, strict=True):
            self.assertIn(f"tests failed with seed {seed}; one of them again: ", line)
            self.assertIn(f" TROUPE_EMULATED_DELAYS={seed} ctest --preset emulated -R ", line)

    def test_what_fails_without_delays_fails_it_too(self):
        self.assertEqual(self.run_with("1", failing="none").returncode, 1)

    def test_wrong_arguments(self):
        for seeds in ("", "two", "-1"):
            self.assertEqual(self.run_with(seeds).returncode, 2)


if __name__ == "__main__":
    unittest.main()
