"""bench/gpu/run started with programs that only pretend."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from fake_programs import Folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
AMP = "resnet50-224-b128-amp_fp16"
GPT2 = "gpt2-1024-b8-amp_bf16"


class Beside(unittest.TestSuite):
    """Tests that run beside each other: with programs that pretend nearly all of their time is spent on limits."""

    AT_ONCE = 4

    def run(self, result, debug=False):
        with ThreadPoolExecutor(self.AT_ONCE) as threads:
            for done in [threads.submit(test, result) for test in self]:
                done.result()
        return result


def beside(_loader, classes, _pattern):
    """For a module's load_tests."""
    return Beside(test for tests in classes for test in tests)


class GpuRunCase(unittest.TestCase):
    wait = 100  # seconds for a run
    said = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-gpu-run-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.fake = Folder(self.scratch / "programs")
        self.cuda = self.fake.cuda
        self.suite = ROOT / "bench/gpu"

    def command(self, *words):
        fakes = ["--programs", self.fake.path, "--python", self.fake.path / "python"]
        fakes += ["--data", self.scratch / "data"]
        return [sys.executable, self.suite / "run", self.scratch / "out", *words, *fakes]

    def start(self, *words, **variables):
        command = [str(word) for word in self.command(*words)]
        path = f"{self.fake.path}:{os.environ['PATH']}"  # for nvidia-smi
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TROUPE_")}
        variables = {"TROUPE_CUDA_LIBRARIES": str(self.cuda), **variables}  # all there: the disk is not searched
        environment = {**inherited, "PATH": path, "TMPDIR": str(self.scratch), **variables}  # what is killed leaves files
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def change_suite(self, changed, sums=None):
        """A copy of it: {file: {text: another}}, and with other checksums of CIFAR-10."""
        (self.scratch / "tree/bench").mkdir(parents=True)
        (self.scratch / "tree/tools/checksums").mkdir(parents=True)
        sums = sums or (ROOT / "tools/checksums/cifar10.sha256").read_text()
        (self.scratch / "tree/tools/checksums/cifar10.sha256").write_text(sums)
        shutil.copytree(self.suite, self.scratch / "tree/bench/gpu")
        (self.scratch / "tree/configs").symlink_to(ROOT / "configs")
        (self.scratch / "tree/bench/peers").symlink_to(ROOT / "bench/peers")
        self.suite = self.scratch / "tree/bench/gpu"
        for name, changes in changed.items():
            text = (self.suite / name).read_text()
            for old, new in changes.items():
                assert old in text, old
                text = text.replace(old, new)
            (self.suite / name).write_text(text)

    def make_data(self):
        """Files of CIFAR-10's names, and the checksums that are theirs."""
        (self.scratch / "data").mkdir()
        names = re.findall(r"\S+$", (ROOT / "tools/checksums/cifar10.sha256").read_text(), re.MULTILINE)
        for name in names:
            (self.scratch / "data" / name).write_text(name)
        return "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names)

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.fail("it did not come")

    def states(self):
        return {name: part["state"] for name, part in self.report["parts"].items()}

    def run_suite(self, *words, changed=None, sums=None, **variables):
        """Exit code; report.json and report.md are in self.report and self.text. `changed`: as change_suite's;
        `sums`: checksums for the copy that this makes.
        """
        if changed or sums:
            self.change_suite(changed or {}, sums)
        program = self.start(*words, **variables)
        self.said = program.communicate(timeout=self.wait)[0]
        if (self.scratch / "out/report.json").exists():
            self.report = json.loads((self.scratch / "out/report.json").read_text())
            self.text = (self.scratch / "out/report.md").read_text()
        return program.returncode

    def end_the_orphans(self):
        """What a run that was killed had started, and cannot end any more."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.fake.path) in (path / "cmdline").read_text():
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                pass
