"""tools/lib/arrows.py on small trees: what may be included, and what is said where it may not."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ARROWS = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/arrows.py"
LINKS = {"core": "", "nn": "troupe::core", "training": "troupe::core troupe::nn", "actors": "troupe::training"}


class ArrowsCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-arrows-")
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        for folder, libraries in LINKS.items():
            self.write(f"{folder}/CMakeLists.txt", f"target_link_libraries(x PUBLIC {libraries})\n")
        for header in ("core/graph/graph.hpp", "core/detail/bits.hpp", "nn/passes/detail/walk.hpp", "nn/compile.hpp"):
            self.write(header, "#pragma once\n")

    def write(self, path, text):
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text)

    def check(self, path, *headers):
        """Exit code and what is printed for a file that includes these."""
        self.write(path, "".join(f"#include {header}\n" for header in headers))
        command = [sys.executable, "-B", ARROWS, path]
        run = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def allow(self, path, *headers):
        self.assertEqual(self.check(path, *headers), (0, ""))

    def refuse(self, path, header, reason):
        code, said = self.check(path, "<vector>", header)
        self.assertEqual(code, 1, f"{path} may include {header}")
        self.assertTrue(said.startswith(f"{path}:2: {reason}"), said)

    def test_a_folder_includes_lower_ones(self):
        self.allow("nn/a.cpp", '"core/graph/graph.hpp"', "<vector>", '"nn/compile.hpp"')
        self.refuse("core/a.cpp", '"nn/compile.hpp"', "core/ may not include nn/, which is not below it")
        self.write("data/x.hpp", "")
        self.refuse("nn/a.cpp", '"data/x.hpp"', "nn/ may not include data/")

    def test_only_the_folder_around_a_detail_includes_it(self):
        self.allow("nn/passes/a.cpp", '"nn/passes/detail/walk.hpp"')
        self.allow("nn/passes/deep/a.cpp", '"nn/passes/detail/walk.hpp"')
        self.refuse("nn/a.cpp", '"nn/passes/detail/walk.hpp"', "only nn/passes/ may include nn/passes/detail/")
        self.refuse("nn/passes.cpp", '"nn/passes/detail/walk.hpp"', "only nn/passes/ may include nn/passes/detail/")
        self.refuse("nn/a.cpp", '"core/detail/bits.hpp"', "only core/ may include core/detail/")

    def test_tests_may_include_details(self):
        self.allow("tests/nn/a.cpp", '"nn/passes/detail/walk.hpp"')

    def test_includes_are_paths_from_the_root(self):
        self.refuse("nn/a.cpp", '"compile.hpp"', 'includes are paths from the root: "nn/compile.hpp"')
        self.refuse("nn/a.cpp", '"../core/graph/graph.hpp"', 'includes are paths from the root: "core/graph/graph.hpp"')
        self.refuse("nn/a.cpp", '"troupe/core/graph/graph.hpp"', 'includes are paths from the root: "core/graph/graph.hpp"')

    def test_a_library_is_linked_by_name(self):
        self.allow("training/a.cpp", '"nn/compile.hpp"')
        self.refuse("actors/a.cpp", '"nn/compile.hpp"', "actors/CMakeLists.txt does not link troupe::nn itself")

    def test_libraries_stay_in_their_layers(self):
        self.allow("actors/a.cpp", '"caf/actor.hpp"')
        self.refuse("training/a.cpp", '"caf/actor.hpp"', "only actors/, app/, tests/, bench/ may include CAF")
        self.refuse("training/a.cpp", "<cuda_runtime.h>", "only gpu/")
        self.refuse("nn/a.cpp", "<oneapi/dnnl/dnnl.hpp>", "only cpu/")

    def test_a_missing_header_is_reported(self):
        self.refuse("nn/a.cpp", '"core/graphs/graph.hpp"', "there is no core/graphs/graph.hpp")

    def test_two_subfolders_do_not_include_each_other(self):
        self.write("nn/ops/table.hpp", "")
        self.allow("nn/passes/a.cpp", '"nn/ops/table.hpp"')
        self.write("nn/ops/b.cpp", '#include "nn/passes/detail/walk.hpp"\n#include "nn/passes/detail/walk.hpp"\n')
        self.write("nn/passes/a.cpp", '#include "nn/ops/table.hpp"\n')
        command = [sys.executable, "-B", ARROWS, "nn/passes/a.cpp", "nn/ops/b.cpp"]
        run = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)
        self.assertIn("nn/passes/a.cpp:1: nn/passes/ and nn/ops/ include each other (nn/ops/table.hpp)", run.stdout)
        self.assertEqual(run.returncode, 1)


if __name__ == "__main__":
    unittest.main()
