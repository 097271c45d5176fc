"""bench/gpu/count with a program that only pretends, and the lists of PyTorch's kernels."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/gpu"))

from counting import pytorch, resnet50  # noqa: E402

RESNET50 = {"model": "resnet50", "precision": "amp_fp16", "batch": 128, "size": 224, "classes": 1000}
DEVICE = {
    "name": "a device",
    "bytes_per_second": 1e12,
    "narrow_operations": 1e14,
    "wide_operations": 1e13,
    "launch_seconds": 1e-6,
}
SHARED = {"unit": "head", "launches": 2, "narrow": True}
WORK = [
    {"kind": "add", "what": "y", "read": 2e9, "written": 1e9, "operations": 0, **SHARED},
    {"kind": "matmul", "what": "z", "read": 1e6, "written": 1e6, "operations": 2e12, **SHARED},
]
COUNTED = {**RESNET50, "optimizer": "sgd", "device": DEVICE, "work": WORK}


class Count(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-gpu-count-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def pretend(self, script):
        program = self.scratch / "bench/gpu/bench_gpu_count"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def count(self, *words):
        command = [sys.executable, ROOT / "bench/gpu/count", "job.yaml", "--programs", self.scratch, *words]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    def pretend_to_count(self, **changes):
        (self.scratch / "counted").write_text(json.dumps({**COUNTED, **changes}))
        self.pretend(f'cat {self.scratch / "counted"}')

    def test_the_last_line_is_the_sum(self):
        self.pretend_to_count(model="mlp")
        ended = self.count()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout.splitlines()[-1], "3.00 GB, 4 launches")
        self.assertNotIn("PyTorch", ended.stdout)

    def test_rates_may_be_others(self):
        self.pretend_to_count()
        file = self.scratch / "all.json"
        ended = self.count("--json", file, "--bandwidth", "2000", "--flops", "50", "--launch", "3", "--nodes")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        work = json.loads(file.read_text())["steps"]["troupe"]["work"]
        self.assertAlmostEqual(work[0]["seconds"], 6e-6 + 3e9 / 2e12)
        self.assertAlmostEqual(work[1]["seconds"], 6e-6 + 2e12 / 5e13)

    def test_pytorch_stands_beside_the_network_of_its_lists(self):
        self.pretend_to_count()
        self.assertIn("| PyTorch compile |", self.count().stdout)

    def test_what_is_wrong_is_said(self):
        self.assertEqual(self.count().returncode, 2)
        self.pretend("echo job.yaml: wrong >&2; exit 2")
        ended = self.count()
        self.assertEqual((ended.returncode, ended.stderr), (2, "job.yaml: wrong\n"))
        self.assertEqual(self.count("--bandwidth", "-1").returncode, 2)

    def test_a_file_that_cannot_be_written_is_said(self):
        self.pretend_to_count()
        ended = self.count("--json", self.scratch / "nowhere/all.json")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("nowhere", ended.stderr)


class Lists(unittest.TestCase):
    def test_the_layers_are_those_of_resnet50(self):
        layers = resnet50.layers(1, 224, 1000)
        self.assertEqual(layers[-1].elements["p"], 25_557_032)
        self.assertEqual(sum(layer.operations for layer in layers), 2 * 4_089_184_256)

    def test_every_kernel_has_a_source_and_a_layer(self):
        kinds = {kind for layer in resnet50.layers(1, 224, 1000) for kind in layer.kinds}
        for file in sorted(pytorch.LISTS.glob("*.json")):
            for kernel in json.loads(file.read_text())["kernels"]:
                with self.subTest(file=file.name, kernel=kernel):
                    self.assertTrue(kernel["source"])
                    self.assertIn(kernel["for"], kinds)

    def test_steps_are_what_the_pages_say(self):
        """docs/benchmarks/2026-11-23-gpu-count.md."""
        steps = pytorch.steps(COUNTED)
        sums = {
            name: (round(sum(work.moved for work in works) / 1e9, 1), sum(work.launches for work in works))
            for name, works in steps.items()
        }
        self.assertEqual(sums, {"PyTorch eager": (63.2, 588), "PyTorch compile": (52.7, 702)})

    def test_other_networks_have_no_lists(self):
        self.assertEqual(pytorch.steps({**COUNTED, "precision": "fp32"}), {})


if __name__ == "__main__":
    unittest.main()
