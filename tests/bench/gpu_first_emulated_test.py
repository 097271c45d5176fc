"""gpu_first_emulated_test.py BUILD: bench/gpu/run --first with our programs on an emulated device, beside a
PyTorch that pretends: twice, the second time with the plans of the first.
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
from fake_programs import Folder  # noqa: E402
from gpu_run_fixture import GPT2, GpuRunCase  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SLOW = ("doctor", "kernels", "engines", "host_waits", "resnet18", "resnet50", "gpt2")  # in software
LATE_LOADS = {"TROUPE_EMULATED_LATE_LOADS": "wait"}  # host_waits measures them


class FirstRunOnEmulatedDevice(GpuRunCase):
    def setUp(self):
        super().setUp()
        self.peer = Folder(self.scratch / "peers")
        self.fake.path = BUILD  # our own

    def command(self, *words):
        limits = [word for part in SLOW for word in ("--limit", f"{part}=300")]
        command = super().command(*words, "--tiny", "--total", "500", *limits)
        command[command.index("--python") + 1] = self.peer.path / "python"
        return command

    def check(self):
        self.assertEqual(set(self.states().values()), {"ok"}, f"{self.said}\n{self.text}")
        self.assertEqual(self.report["machine"]["device"], "Emulated GPU")
        for part in ("kernels", "engines"):
            self.assertGreater(self.report["tests"][part]["passed"], 0)
        nodes = self.report["roofline"][GPT2]["nodes"]
        self.assertGreater(len(nodes), 50)
        self.assertGreater(sum(node["operations"] for node in nodes), 0)
        self.assertTrue(all(node["us"] > 0 for node in nodes))
        self.assertIn(f"## Roofline of {GPT2}", self.text)
        self.assertGreater(self.report["start"]["gpt2 first"]["tokens_per_second"], 0)
        self.assertGreater(self.report["start"]["gpt2 first"]["loss"], 0)
        files = list((self.scratch / "out").iterdir())
        self.assertLessEqual(len(files), 8)
        self.assertTrue(all(file.stat().st_size <= 16 * 2**20 for file in files))

    def test_all_of_it_and_the_plans_once_more(self):
        self.wait = 550
        self.assertEqual(self.run_suite("--first", **LATE_LOADS), 0, self.said)
        self.check()
        starts = self.report["start"]
        self.assertGreater(starts["resnet18 first"]["searches"], 5)
        self.assertEqual(starts["resnet18 again"]["searches"], 0)
        self.assertIn("compile", starts["resnet50 first"]["startup"])
        plans = self.scratch / "plans.tar.gz"
        (self.scratch / "out/plans.tar.gz").rename(plans)

        self.assertEqual(self.run_suite("--first", "--plans", plans, **LATE_LOADS), 0, self.said)
        self.check()
        self.assertEqual({start["searches"] for start in self.report["start"].values()}, {0})
        self.assertRegex(self.report["machine"]["plans"], r"^[1-9]\d* taken from ")


if __name__ == "__main__":
    unittest.main()
