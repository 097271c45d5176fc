"""gpu_first_emulated_test.py BUILD: bench/gpu/run --first with our programs on an emulated device, beside a
PyTorch that pretends: twice, the second time with the plans of the first.
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
from fake_programs import Folder  # noqa: E402
from gpu_run_fixture import AMP, GpuRunCase  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class FirstRunOnEmulatedDevice(GpuRunCase):
    def setUp(self):
        super().setUp()
        self.peer = Folder(self.scratch / "peers")
        self.fake.path = BUILD  # our own

    def command(self, *words):
        command = super().command(*words, "--tiny", "--total", "500", "--rounds", "1", "--seconds", "0.2")
        command[command.index("--python") + 1] = self.peer.path / "python"
        return command

    def check(self):
        parts = self.report["parts"]
        self.assertEqual([part["state"] for part in parts.values()], ["ok"] * 4, self.said)
        # CUPTI is the real one: no other figure of the part is lost with it.
        self.assertEqual(parts["trace"]["why"], "kernels: skipped, CUPTI sees none on an emulated device")
        nodes = self.report["roofline"]["nodes"]
        self.assertGreater(len(nodes), 50)
        self.assertGreater(sum(node["operations"] for node in nodes), 0)
        self.assertTrue(all(node["us"] > 0 for node in nodes))
        still = [node["name"] for node in nodes if node["bytes"] == 0]  # another shape of what lies there
        self.assertTrue(all("flatten" in name for name in still), still)
        self.assertIn("## Roofline of a step", self.text)
        self.assertEqual(self.report["machine"]["device"], "Emulated GPU")
        row = self.report["step"][AMP]["summary"]
        self.assertGreater(row["ours"]["images_per_second"], 0)
        self.assertIn("ratio_compile", row)
        files = list((self.scratch / "out").iterdir())
        self.assertLessEqual(len(files), 8)
        self.assertTrue(all(file.stat().st_size <= 16 * 2**20 for file in files))

    def test_all_of_it_and_the_plans_once_more(self):
        self.wait = 550
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        self.check()
        starts = self.report["start"]
        self.assertGreater(starts["first"]["searches"], 20)
        self.assertEqual([starts[name]["searches"] for name in ("again", "basic")], [0, 0])
        self.assertIn("compile", starts["first"]["startup"])
        plans = self.scratch / "plans.tar.gz"
        (self.scratch / "out/plans.tar.gz").rename(plans)

        self.assertEqual(self.run_suite("--first", "--plans", plans), 0, self.said)
        self.check()
        self.assertEqual({start["searches"] for start in self.report["start"].values()}, {0})
        self.assertRegex(self.report["machine"]["plans"], r"^[1-9]\d* taken from ")


if __name__ == "__main__":
    unittest.main()
