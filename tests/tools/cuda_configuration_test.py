"""cmake/TroupeCuda.cmake on machines without nvcc, with nvcc and no headers, and with both: what is built, and what is said.

A project of one line includes it. CMake is told to ignore this machine's own toolkit and headers."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(configured CXX)
add_library(troupe_compile_options INTERFACE)
list(APPEND CMAKE_MODULE_PATH "{REPOSITORY}/cmake")
include(TroupeCuda)
message(STATUS "have CUDA: ${{TROUPE_HAVE_CUDA}}")
"""
HEADERS = ["cuda_runtime_api.h", "crt/host_config.h", "nv/target", "cupti.h", "nvtx3/nvToolsExt.h", "cublasLt.h", "cudnn.h", "nccl.h"]
# A compiler that says its version, for what is decided before anything is compiled.
NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release {}, V{}.88'\n"


class CudaConfiguration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-configure-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "CMakeLists.txt").write_text(PROJECT)

    def make_nvcc(self, release="13.0"):
        nvcc = self.folder / "nvcc"
        nvcc.write_text(NVCC.format(release, release))
        nvcc.chmod(0o755)
        return nvcc

    def make_headers(self, names):
        for name in names:
            header = self.folder / ".deps/cuda/nvidia/cu13/include" / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.touch()

    def configure(self, mode, nvcc=None):
        ignored = [pathlib.Path(found).parent for found in (shutil.which("nvcc"),) if found]
        ignored += ["/usr/local/bin", "/usr/local/cuda/bin", "/usr/include", "/usr/local/include"]
        for toolkit in pathlib.Path("/usr/local").glob("cuda*"):
            ignored += [toolkit / "include", toolkit / "include/cccl", *toolkit.glob("targets/*/include")]
            ignored += [toolkit / "extras/CUPTI/include"]
        ignored += pathlib.Path("/usr/include").glob("*-linux-gnu")
        options = [f"-DTROUPE_CUDA={mode}", "-DCMAKE_IGNORE_PATH=" + ";".join(map(str, ignored))]
        if nvcc:
            options.append(f"-DCMAKE_CUDA_COMPILER={nvcc}")
        environment = {"PATH": "/usr/bin:/bin", "CXX": "g++"}
        return subprocess.run(
            ["cmake", "-S", self.folder, "-B", self.folder / "build", *options],
            capture_output=True, text=True, check=False, env=environment,
        )

    def assert_left_out(self, ended, *words):
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("have CUDA: OFF", ended.stdout)
        lines = [line for line in ended.stderr.splitlines() if line.startswith("troupe:")]
        self.assertEqual(len(lines), 1, ended.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_refused(self, ended, *words):
        self.assertNotEqual(ended.returncode, 0)
        said = " ".join(ended.stderr.split())
        for word in words:
            self.assertIn(word, said)

    def test_auto_without_nvcc_leaves_cuda_out(self):
        self.make_headers(HEADERS)
        self.assert_left_out(self.configure("AUTO"), "no CUDA compiler (nvcc)", "tools/bootstrap --cuda")

    def test_on_without_nvcc_is_an_error(self):
        self.assert_refused(self.configure("ON"), "no CUDA compiler (nvcc)", "tools/bootstrap --cuda")

    def test_auto_with_an_old_nvcc_leaves_cuda_out(self):
        self.make_headers(HEADERS)
        self.assert_left_out(self.configure("AUTO", self.make_nvcc("11.8")), "CUDA 11.8", "12.4 or later")

    def test_auto_with_nvcc_and_no_headers_names_them(self):
        self.make_headers(HEADERS[:-3])
        ended = self.configure("AUTO", self.make_nvcc())
        self.assert_left_out(ended, "cublasLt.h", "cudnn.h", "nccl.h", "tools/bootstrap --cuda")
        self.assertNotIn("cupti.h", ended.stderr)

    def test_on_with_nvcc_and_no_headers_is_the_same_sentence_as_an_error(self):
        self.make_headers(HEADERS[:-3])
        ended = self.configure("ON", self.make_nvcc())
        self.assert_refused(ended, "cuBLAS (cublasLt.h), cuDNN (cudnn.h), NCCL (nccl.h)", "tools/bootstrap --cuda")

    def test_wheels_of_cuda_13_are_not_used_with_an_older_compiler(self):
        self.make_headers(HEADERS)
        self.assert_left_out(self.configure("AUTO", self.make_nvcc("12.8")), "cuDNN (cudnn.h)", "tools/bootstrap --cuda")

    def test_headers_that_came_since_are_found(self):
        self.make_headers(HEADERS[:-1])
        self.assert_refused(self.configure("EMULATED"), "NCCL (nccl.h)")
        self.make_headers(HEADERS)
        ended = self.configure("EMULATED")
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_the_emulated_gpu_needs_headers_and_no_nvcc(self):
        self.make_headers(HEADERS)
        ended = self.configure("EMULATED")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("have CUDA: ON", ended.stdout)

    @unittest.skipUnless(shutil.which("nvcc"), "no nvcc")
    def test_auto_with_nvcc_and_headers_builds_cuda(self):
        self.make_headers(HEADERS)
        ended = self.configure("AUTO", shutil.which("nvcc"))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("have CUDA: ON", ended.stdout)


if __name__ == "__main__":
    unittest.main()
