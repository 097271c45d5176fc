"""bench/gpu/count with a stub of bench_gpu_count, and the lists of the peers' kernels."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/gpu"))

from counting import gpt2, llama, peers, resnet50  # noqa: E402

RESNET50 = {"model": "resnet50", "precision": "amp_fp16", "batch": 128, "size": 224, "classes": 1000}
DEVICE = {
    "name": "a device",
    "bytes_per_second": 1e12,
    "operations_per_second": {"wide": 1e13, "narrow": 1e14, "cudnn_attention": 5e13, "attention": 1e12},
    "launch_seconds": 1e-6,
}
SHARED = {"unit": "head", "launches": 2, "operation_class": "narrow"}
WORK = [
    {"kind": "add", "what": "y", "read": 2e9, "written": 1e9, "operations": 0, **SHARED},
    {"kind": "matmul", "what": "z", "read": 1e6, "written": 1e6, "operations": 2e12, **SHARED},
]
COUNTED = {**RESNET50, "slices": 1, "optimizer": "sgd", "language": None, "device": DEVICE, "work": WORK}
GPT2_124M = {
    "tokens": 512 * 1024,
    "sequence": 1024,
    "layers": 12,
    "width": 768,
    "heads": 12,
    "kv_heads": 12,
    "hidden": 3072,
    "vocabulary": 50304,
    "operations_per_token": 1e9,
    "peak": 1e15,
}
LLAMA_1B = {
    **GPT2_124M,
    "tokens": 256 * 2048,
    "sequence": 2048,
    "layers": 22,
    "width": 2048,
    "heads": 32,
    "kv_heads": 4,
    "hidden": 5632,
}
LANGUAGE = {"model": "gpt2", "precision": "amp_bf16", "optimizer": "adamw", "slices": 16, "language": GPT2_124M}
LLAMA = {**LANGUAGE, "model": "llama-1b", "slices": 32, "language": LLAMA_1B}


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

    def test_a_language_model_has_figures_per_token_and_its_peers(self):
        self.pretend_to_count(**LANGUAGE)
        ended = self.count()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("MB a token", ended.stdout)
        # 3 GB and 2 TFLOP in 23 ms: 22.8 million tokens/s, of 1e9 operations each.
        self.assertRegex(ended.stdout, r"\| troupe +\| +0\.01 \| +0\.004 \| +4 \| +23\.0 \| +22791\d{3} \| +2279\.1% \|")
        self.assertIn("| llm.c ", ended.stdout)
        self.assertIn("| PyTorch compile |", ended.stdout)

    def test_an_unknown_peak_has_no_mfu(self):
        self.pretend_to_count(**{**LANGUAGE, "language": {**GPT2_124M, "peak": 0}})
        self.assertRegex(self.count().stdout, r"\| troupe .* –")

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

    def test_the_layers_are_those_of_gpt2(self):
        """124,475,904 parameters: GPT-2's, with 50,304 tokens."""
        layers = gpt2.layers(GPT2_124M, 32)
        self.assertEqual([layer.elements["p"] for layer in layers if "step" in layer.kinds], [124_475_904])
        self.assertEqual(len([layer for layer in layers if "later slice" in layer.kinds]), 148)
        products = [layer.operations for layer in layers if "linear" in layer.kinds]
        rows = GPT2_124M["tokens"] // 32
        self.assertEqual(sum(products), 2 * rows * 12 * 12 * 768**2)

    def test_the_layers_are_those_of_llama(self):
        """TinyLlama's, with 50,304 tokens."""
        layers = llama.layers(LLAMA_1B, 32)
        self.assertEqual([layer.elements["p"] for layer in layers if "step" in layer.kinds], [1_175_021_568])
        products = [layer.operations for layer in layers if "linear" in layer.kinds]
        rows = LLAMA_1B["tokens"] // 32
        of_block = 2 * 2048 * 2048 + 2 * 2048 * 256 + 3 * 2048 * 5632
        self.assertEqual(sum(products), 2 * rows * 22 * of_block)

    def test_every_kernel_has_a_source_and_a_layer(self):
        known = {
            **dict.fromkeys(peers.RESNET50.values(), resnet50.layers(1, 224, 1000)),
            **dict.fromkeys(peers.GPT2.values(), gpt2.layers(GPT2_124M, 32)),
            **dict.fromkeys(peers.LLAMA.values(), llama.layers(LLAMA_1B, 32)),
        }
        for file, layers in known.items():
            kinds = {kind for layer in layers for kind in layer.kinds}
            for kernel in peers.kernels_of(file):
                with self.subTest(file=file, kernel=kernel):
                    self.assertTrue(kernel["source"])
                    self.assertIn(kernel["for"], kinds)

    def sums(self, counted):
        """Gigabytes and launches."""
        steps = peers.steps(counted)
        return {
            name: (round(sum(work.moved for work in works) / 1e9, 1), sum(work.launches for work in works))
            for name, works in steps.items()
        }

    def test_steps_of_resnet50_match_the_page(self):
        """docs/benchmarks/2026-11-23-gpu-count.md."""
        self.assertEqual(self.sums(COUNTED), {"PyTorch eager": (63.2, 588), "PyTorch compile": (52.7, 702)})

    def test_steps_of_gpt2_match_the_page(self):
        """docs/benchmarks/2026-12-01-gpu-count-language.md."""
        found = self.sums({**COUNTED, **LANGUAGE})
        self.assertEqual(found, {"llm.c": (1274.2, 5810), "PyTorch compile": (1653.8, 11138)})

    def test_a_step_of_llama_matches_the_page(self):
        self.assertEqual(self.sums({**COUNTED, **LLAMA}), {"PyTorch compile": (7432.2, 42653)})

    def test_other_networks_have_no_lists(self):
        self.assertEqual(peers.steps({**COUNTED, "precision": "fp32"}), {})


if __name__ == "__main__":
    unittest.main()
