"""gpu_second_emulated_test.py BUILD: bench/gpu/run --second, and parts of it by name, with our programs on an
emulated device, beside a PyTorch that pretends, in the smallest sizes; CIFAR-10's files are empty images.
"""

import hashlib
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
from fake_programs import Folder  # noqa: E402
from gpu_run_fixture import AMP, GPT2, ROOT, GpuRunCase  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
FILE = 10000 * 3073  # bytes: a label and an image of 32 x 32, in three planes


class RunsOnEmulatedDevice(GpuRunCase):
    wait = 550

    def setUp(self):
        super().setUp()
        self.peer = Folder(self.scratch / "peers")
        self.fake.path = BUILD  # our own

    def command(self, *words):
        command = super().command(*words, "--tiny", "--rounds", "1", "--seconds", "0.1", "--epochs", "2")
        command[command.index("--python") + 1] = self.peer.path / "python"
        return command

    def check(self, part):
        self.assertEqual(self.report["parts"][part]["state"], "ok", f"{self.said}\n{self.text}")
        self.assertEqual(self.report["machine"]["device"], "Emulated GPU")
        self.assertLessEqual(len(list((self.scratch / "out").iterdir())), 8)

    def make_data(self):
        """Without a byte on the disk: every image is a black airplane."""
        (self.scratch / "data").mkdir()
        sums = ""
        for name in re.findall(r"\S+$", (ROOT / "tools/checksums/cifar10.sha256").read_text(), re.MULTILINE):
            with open(self.scratch / "data" / name, "wb") as file:
                file.truncate(FILE if name.endswith(".bin") else 0)
            sums += f"{hashlib.sha256((self.scratch / 'data' / name).read_bytes()).hexdigest()}  {name}\n"
        return sums

    def test_second_measures_both_models_and_skips_what_needs_the_real_libraries(self):
        self.assertEqual(self.run_suite("--second"), 0, self.said)
        for part in ("step", "trace", "collectives"):
            self.check(part)
        self.assertGreater(self.report["step"][AMP]["summary"]["ours"]["images_per_second"], 0)
        self.assertGreater(self.report["step"][GPT2]["summary"]["ours"]["tokens_per_second"], 0)
        self.assertIn("ratio_compile", self.report["step"][GPT2]["summary"])
        # CUPTI is the real one: no other figure of the part is lost with it.
        self.assertEqual(self.report["parts"]["trace"]["why"], "kernels: skipped, CUPTI sees none on an emulated device")
        nodes = self.report["roofline"][AMP]["nodes"]
        self.assertTrue(all(node["us"] > 0 for node in nodes))
        still = [node["name"] for node in nodes if node["bytes"] == 0]  # another shape of what lies there
        self.assertTrue(all("flatten" in name for name in still), still)
        self.assertGreater(self.report["tests"]["collectives"]["passed"], 0)
        self.assertEqual(self.report["parts"]["sanitizer"]["state"], "skipped")
        self.assertIn("emulated device", self.report["parts"]["sanitizer"]["why"])

    def test_tests_by_name(self):
        self.assertEqual(self.run_suite("doctor", "tests"), 0, self.said)
        self.check("tests")
        self.assertGreater(self.report["tests"]["troupe_gpu_tests"]["passed"], 10)

    def test_epochs_and_compare_train_from_the_files(self):
        self.peer.python(epochs="echo '{\"epochs\": 2, \"accuracy\": 0.4, \"peak_memory_mib\": 2048}'")
        self.change_suite({}, self.make_data())
        self.assertEqual(self.run_suite("epochs", "--only", "amp"), 0, self.text)
        self.check("epochs")
        self.assertEqual(self.report["epochs"]["epochs-amp_fp16"]["results"]["ours"]["accuracy"], 1)

        self.assertEqual(self.run_suite("compare", "--only", "^(single-fp32|dp|zero3)"), 0, self.said)
        self.check("compare")
        for row, workers in (("single", 1), ("dp", 2), ("zero3", 2)):
            self.assertRegex(self.text, rf"(?m)^\| {row} \| fp32 \| {workers} \| [\d.]+ m?s \| [\d.]+ \|")


if __name__ == "__main__":
    unittest.main()
