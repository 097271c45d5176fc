"""tools/check-skips: which reasons to skip a test CI accepts."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/check-skips"
SKIPPED = """<testcase name="{name}" status="notrun"><skipped message="SKIP_RETURN_CODE=4"/>
<system-out>-------
{name}
-------
file.cpp:9: SKIPPED:
explicitly with message:
  {reason}

===
test cases: 1 | 1 skipped
</system-out></testcase>"""


class Skips(unittest.TestCase):
    def check(self, *reasons, options=()):
        cases = "".join(SKIPPED.format(name=f"test {i}", reason=reason) for i, reason in enumerate(reasons))
        passed = '<testcase name="passed" status="run"><system-out>cannot open</system-out></testcase>'
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(f"<testsuite>{cases}{passed}</testsuite>")
            file.flush()
            return subprocess.run([SCRIPT, *options, file.name], capture_output=True, text=True, check=False)

    def test_nothing_skipped_is_accepted(self):
        self.assertEqual(self.check().returncode, 0)

    def test_a_missing_gpu_and_a_missing_instruction_are_accepted(self):
        why = ("no CUDA device: none", "this processor has no tiles of bf16", "skipped: no nvcc compiles the kernels of x")
        ended = self.check(*why)
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_a_missing_library_is_not_accepted_and_names_the_test(self):
        ended = self.check("cannot open libcudnn.so.9; searched: nothing")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("libcudnn.so.9", ended.stdout)
        self.assertIn("  test 0\n", ended.stdout)

    def test_a_missing_device_is_not_accepted_of_the_emulated_gpu(self):
        self.assertEqual(self.check("no CUDA device: none", options=["--emulated"]).returncode, 1)

    def test_a_skip_without_a_reason_is_not_accepted(self):
        self.assertEqual(self.check("").returncode, 1)

    def test_no_files_are_wrong_arguments(self):
        self.assertEqual(subprocess.run([SCRIPT], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
