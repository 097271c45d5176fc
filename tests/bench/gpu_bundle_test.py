"""gpu_bundle_test.py BUILD: tools/gpu-bundle's tree starts where it was copied to, and keeps to its size.

Exit code 77, which ctest shows as skipped, where the build has no programs to pack.
"""

import ctypes
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 60.0  # MiB, of the bundle and the checkout
SIZES = re.compile(r"bundle ([0-9.]+) MiB, tree ([0-9.]+) MiB, together ([0-9.]+) MiB")


def pack(build, folder, *options):
    command = [ROOT / "tools/gpu-bundle", folder, "--build", build, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def driver_is_here():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


class GpuBundle(unittest.TestCase):
    build = pathlib.Path()

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-bundle-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        packed = pack(cls.build, cls.scratch / "made")
        assert packed.returncode == 0, packed.stderr
        cls.sizes = [float(size) for size in SIZES.search(packed.stderr).groups()]
        cls.size = sum(file.stat().st_size for file in (cls.scratch / "made").rglob("*") if file.is_file())
        # Moved away and started from elsewhere, with nothing of this environment.
        cls.bundle = cls.scratch / "a folder elsewhere"
        shutil.move(cls.scratch / "made", cls.bundle)

    def start(self, *words):
        return subprocess.run(
            [self.bundle / words[0], *words[1:]],
            cwd="/",
            env={"PATH": os.defpath},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_bundle_and_checkout_together_are_small(self):
        bundle, tree, together = self.sizes
        self.assertAlmostEqual(bundle, self.size / 2**20, delta=0.5)  # folders count, too
        self.assertAlmostEqual(together, bundle + tree, delta=0.2)
        self.assertLessEqual(together, LIMIT)
        if (ROOT / ".git").exists():
            self.assertGreater(tree, 5)

    def test_a_bundle_that_is_too_large_is_none(self):
        small = self.scratch / "build/app/troupe"  # any program will do, and packs faster
        small.parent.mkdir(parents=True)
        shutil.copy("/bin/true", small)
        packed = pack(self.scratch / "build", self.scratch / "large", "--limit", "0")
        self.assertEqual(packed.returncode, 1)
        self.assertRegex(packed.stderr, SIZES.pattern + ": more than 0 MiB")
        self.assertFalse((self.scratch / "large").exists())

    def test_what_is_no_bundle_is_not_replaced(self):
        mine = self.scratch / "mine"
        mine.mkdir()
        (mine / "file").touch()
        self.assertEqual(pack(self.build, mine).returncode, 1)
        self.assertTrue((mine / "file").exists())

    def test_doctor_says_whether_there_is_a_gpu(self):
        free = ["--set", "cluster.listen=127.0.0.1:0", "--set", "metrics.listen=127.0.0.1:0"]
        ran = self.start("bin/troupe", "doctor", "--json", self.bundle / "configs/debug.yaml", *free)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        found = json.loads(ran.stdout)
        self.assertIn("build", found["cuda"])
        wanted = "for CUDA" if driver_is_here() else "no driver (libcuda.so.1) on this machine"
        self.assertIn(wanted, found["cuda"]["driver"]["value"])

    def test_its_libraries_are_used(self):
        names = {path.name for path in (self.bundle / "bin").iterdir()}
        self.assertIn("troupe", names)
        self.start("bin/troupe", "--version")
        libraries = self.bundle / "unpacked/lib"
        used = subprocess.run(
            ["ldd", self.bundle / "unpacked/programs/troupe"],
            env={"PATH": os.defpath, "LD_LIBRARY_PATH": str(libraries)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # libdnnl.so.2 on Debian 12, libdnnl.so.3.6 on 13
        self.assertRegex(used.replace("//", "/"), rf"(libdnnl\.so\S*) => {re.escape(str(libraries))}/\1 ")
        packed = {path.name.split(".so")[0] for path in libraries.iterdir()}
        self.assertFalse(packed & {"libc", "libm", "libstdc++", "libcudnn", "libcublasLt"})

    def test_configs_are_in_it(self):
        config = self.bundle / "configs/demo.yaml"
        ran = self.start("bin/troupe", "config", "check", config)
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{config}: ok\n"), ran.stderr)

    def test_tests_find_their_files_in_it(self):
        if not (self.bundle / "bin/troupe_nn_tests").exists():
            self.skipTest("troupe_nn_tests is not built")
        # Nothing of the tree it was compiled in: a golden file that is not in the bundle must be missed.
        found = self.start("bin/troupe_nn_tests", "*schedule*")
        self.assertEqual(found.returncode, 0, found.stdout)
        shutil.move(self.bundle / "tests/golden", self.bundle / "tests/away")
        missed = self.start("bin/troupe_nn_tests", "*schedule*")
        shutil.move(self.bundle / "tests/away", self.bundle / "tests/golden")
        self.assertNotEqual(missed.returncode, 0, missed.stdout)

    def test_what_the_two_runs_name_is_in_it(self):
        for name in ("first", "second"):
            ran = self.start("bench/gpu/run", self.scratch / "out", f"--{name}", "--dry-run")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            commands = [line for line in ran.stdout.splitlines() if not line.startswith("#")]
            words = {word for line in commands for word in shlex.split(line)}
            named = {word for word in words if word.startswith(f"{self.bundle}/")}
            self.assertGreaterEqual(len(named), 1, ran.stdout)
            lost = {word for word in named if not pathlib.Path(word).exists()}
            # The data is brought apart, and a build without CUDA has no programs for it.
            lost -= {str(self.bundle / "datasets/cifar10")}
            self.assertEqual({word for word in lost if "/bin/" not in word}, set())

    def test_the_suite_runs_from_it(self):
        ran = self.start("bench/gpu/run", self.scratch / "out", "--dry-run")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(str(self.bundle / "bin/troupe"), ran.stdout)
        if not driver_is_here():
            ran = self.start("bench/gpu/run", self.scratch / "out", "doctor", "--python", "no-python")
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn("no CUDA device on this machine", (self.scratch / "out/report.md").read_text())


if __name__ == "__main__":
    GpuBundle.build = pathlib.Path(sys.argv.pop(1)).resolve()
    if not list(GpuBundle.build.glob("app/troupe")):
        print(f"skipped: {GpuBundle.build} has no app/troupe to pack")
        sys.exit(77)
    unittest.main()
