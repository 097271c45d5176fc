"""cmake/TroupeCudaArchitectures.cmake with stubs of nvcc: the GPUs that kernels are compiled for, and errors."""

import pathlib
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = f"""cmake_minimum_required(VERSION 3.25)
include({REPOSITORY}/cmake/TroupeCudaArchitectures.cmake)
message("${{TROUPE_CUDA_GENERATE}} PTX ${{TROUPE_CUDA_PTX}}")
"""
CUDA_13 = (75, 80, 86, 87, 88, 89, 90, 100, 110, 103, 120, 121)
CUDA_12_4 = (50, 60, 70, 75, 80, 86, 87, 89, 90)


class CudaArchitectures(unittest.TestCase):
    def configure(self, architectures=None, known=CUDA_13, *options):
        with tempfile.TemporaryDirectory(prefix="troupe-architectures-") as folder:
            nvcc, script = pathlib.Path(folder) / "nvcc", pathlib.Path(folder) / "script.cmake"
            nvcc.write_text("#!/bin/sh\n" + "".join(f"echo sm_{code}\n" for code in known))
            nvcc.chmod(0o755)
            script.write_text(SCRIPT)
            chosen = [f"-DTROUPE_CUDA_ARCHITECTURES={architectures}"] if architectures else []
            given = [f"-DCMAKE_CUDA_COMPILER={nvcc}", "-DTROUPE_NVCC_RELEASE=13.0", *chosen, *options]
            return subprocess.run(["cmake", *given, "-P", script], capture_output=True, text=True, check=False)

    def said(self, *arguments):
        ended = self.configure(*arguments)
        return ended.returncode, " ".join(ended.stderr.split())

    def test_the_default_is_two_generations_and_ptx(self):
        found = (0, "--generate-code=arch=compute_80,code=[compute_80,sm_80,sm_90] PTX 80")
        self.assertEqual(self.said(), found)
        self.assertEqual(self.said("test"), found)

    def test_the_package_has_every_generation(self):
        codes = "compute_80,sm_80,sm_86,sm_89,sm_90,sm_100,sm_103,sm_120"
        self.assertEqual(self.said("package"), (0, f"--generate-code=arch=compute_80,code=[{codes}] PTX 80"))

    def test_the_package_of_an_older_nvcc_reports_what_it_lacks(self):
        code, said = self.said("package", CUDA_12_4)
        self.assertEqual(code, 0)
        self.assertIn("code=[compute_80,sm_80,sm_86,sm_89,sm_90] PTX 80", said)
        for missing in ("sm_100", "sm_103", "sm_120"):
            self.assertIn(f"no machine code for {missing}", said)

    def test_a_list_has_machine_code_only(self):
        self.assertEqual(self.said("90"), (0, "--generate-code=arch=compute_90,code=[sm_90] PTX 0"))
        self.assertEqual(self.said("120;86"), (0, "--generate-code=arch=compute_86,code=[sm_86,sm_120] PTX 0"))

    def test_wrong_values_are_refused(self):
        for value, word in (
            ("newest", "newest is not a compute capability"),
            ("sm_90", "use test, package, or a list such as 86;89"),
            ("80;130", "cannot compile for sm_130; it knows 75, 80"),
            ("75", "kernels need sm_80 or later"),
        ):
            with self.subTest(value=value):
                code, said = self.said(value)
                self.assertNotEqual(code, 0)
                self.assertIn(word, said)

    def test_the_variable_of_cmake_is_refused(self):
        code, said = self.said("test", CUDA_13, "-DCMAKE_CUDA_ARCHITECTURES=90")
        self.assertNotEqual(code, 0)
        self.assertIn("use TROUPE_CUDA_ARCHITECTURES instead", said)


if __name__ == "__main__":
    unittest.main()
