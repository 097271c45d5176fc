"""bench/gpu/run started with programs that only pretend."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from fake_programs import Folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
AMP = "resnet50-224-b128-amp_fp16"


class GpuRunCase(unittest.TestCase):
    wait = 100  # seconds for a run

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-gpu-run-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.fake = Folder(self.scratch / "programs")
        self.suite = ROOT / "bench/gpu"

    def command(self, *words):
        fakes = ["--programs", self.fake.path, "--python", self.fake.path / "python"]
        fakes += ["--data", self.scratch / "data"]
        return [sys.executable, self.suite / "run", self.scratch / "out", *words, *fakes]

    def start(self, *words):
        command = [str(word) for word in self.command(*words)]
        path = f"{self.fake.path}:{os.environ['PATH']}"  # for nvidia-smi
        environment = {**os.environ, "PATH": path, "TMPDIR": str(self.scratch)}  # what is killed leaves files
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def change_suite(self, changed):
        """A copy of it: {file: {text: another}}."""
        (self.scratch / "tree/bench").mkdir(parents=True)
        (self.scratch / "tree/tools/checksums").mkdir(parents=True)
        shutil.copy(ROOT / "tools/checksums/cifar10.sha256", self.scratch / "tree/tools/checksums")
        shutil.copytree(self.suite, self.scratch / "tree/bench/gpu")
        self.suite = self.scratch / "tree/bench/gpu"
        for name, changes in changed.items():
            text = (self.suite / name).read_text()
            for old, new in changes.items():
                assert old in text, old
                text = text.replace(old, new)
            (self.suite / name).write_text(text)

    def run_suite(self, *words, changed=None):
        """Exit code; report.json and report.md are in self.report and self.text."""
        if changed:
            self.change_suite(changed)
        program = self.start(*words)
        self.said = program.communicate(timeout=self.wait)[0]
        if (self.scratch / "out/report.json").exists():
            self.report = json.loads((self.scratch / "out/report.json").read_text())
            self.text = (self.scratch / "out/report.md").read_text()
        return program.returncode
