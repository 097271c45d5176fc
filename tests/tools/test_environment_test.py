"""test_environment_test.py BUILD: the environment that ctest gives to the tests of BUILD."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop())
PRINTS = "import json, os; print(json.dumps({name: value for name, value in os.environ.items() if 'TROUPE' in name}))"
SETTING = {
    "TROUPE_DEBIAN_MIRROR": "/nowhere",
    "TROUPE_SOURCE_DIR": "/nowhere",
    "TROUPE_PROGRAM": "/bin/false",
    "TROUPE_DATA": "a folder; [with signs]",
    "TROUPE_FUZZ": "many",
    "TROUPE_ISA": "avx2",
    "NOT_TROUPE_OURS": "TROUPE_ISA=baseline",
}
PASSED_ON = {name: SETTING[name] for name in ("TROUPE_DATA", "TROUPE_ISA", "NOT_TROUPE_OURS")}


class TestEnvironment(unittest.TestCase):
    def environment_of_a_test(self, properties="", **variables):
        """What a test sees of these variables when ctest has them, and what ctest says."""
        inherited = {name: value for name, value in os.environ.items() if "TROUPE" not in name}
        with tempfile.TemporaryDirectory(prefix="troupe-environment-") as folder:
            lines = f'include([[{BUILD}/TestEnvironment.cmake]])\nadd_test(prints [[{sys.executable}]] -c [[{PRINTS}]])\n{properties}\n'
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(lines)
            words = ["ctest", "--verbose"]
            ended = subprocess.run(words, cwd=folder, env=inherited | variables, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        line = next(line for line in ended.stdout.splitlines() if line.startswith("1: {"))
        return json.loads(line[3:]), ended.stderr

    def test_only_variables_that_choose_how_tests_run_are_passed_on(self):
        seen, said = self.environment_of_a_test(**SETTING)
        self.assertEqual(seen, PASSED_ON)
        for name in SETTING.keys() - PASSED_ON.keys():
            self.assertIn(name, said)

    def test_a_test_keeps_the_variables_of_its_own_properties(self):
        properties = "set_tests_properties(prints PROPERTIES ENVIRONMENT TROUPE_PROGRAM=/bin/true)"
        self.assertEqual(self.environment_of_a_test(properties, TROUPE_PROGRAM="/bin/false")[0], {"TROUPE_PROGRAM": "/bin/true"})

    def test_nothing_is_said_when_nothing_is_removed(self):
        self.assertEqual(self.environment_of_a_test(TROUPE_FUZZ="20"), ({"TROUPE_FUZZ": "20"}, ""))

    def test_the_build_includes_it_before_its_tests(self):
        lines = [line for line in (BUILD / "CTestTestfile.cmake").read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(lines[0], f'include("{BUILD}/TestEnvironment.cmake")')


if __name__ == "__main__":
    unittest.main()
