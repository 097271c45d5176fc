"""tools/lib/arrows.py on small trees: what may be included, and what is said where it may not."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ARROWS = pathlib.Path(__file__).resolve().parents[2] / "tools/lib/arrows.py"
LINKS = {"core": "", "nn": "troupe::core", "engine": "troupe::core troupe::nn", "actors": "troupe::engine"}


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
        self.allow("nn/a.cpp", '"troupe/core/graph/graph.hpp"', "<vector>", '"compile.hpp"')
        self.refuse("core/a.cpp", '"troupe/nn/compile.hpp"', "core/ may not include nn/: arrows go down only")
        self.refuse("nn/a.cpp", '"troupe/data/x.hpp"', "nn/ may not include data/")

    def test_detail_is_for_the_folder_around_it(self):
        self.allow("nn/passes/a.cpp", '"detail/walk.hpp"')
        self.allow("nn/passes/deep/a.cpp", '"../detail/walk.hpp"')
        self.refuse("nn/a.cpp", '"passes/detail/walk.hpp"', "nn/passes/detail/ is for nn/passes/ alone")
        self.refuse("nn/passes.cpp", '"passes/detail/walk.hpp"', "nn/passes/detail/ is for nn/passes/ alone")
        self.refuse("nn/a.cpp", '"troupe/core/detail/bits.hpp"', "core/detail/ is for core/ alone")

    def test_tests_may_look_into_detail(self):
        self.allow("tests/nn/a.cpp", '"troupe/nn/passes/detail/walk.hpp"')

    def test_a_relative_path_is_no_way_around(self):
        self.refuse("core/a.cpp", '"../nn/compile.hpp"', "core/ may not include nn/")
        self.refuse("core/graph/a.cpp", '"../../nn/compile.hpp"', "core/ may not include nn/")
        self.refuse("nn/a.cpp", '"../core/graph/graph.hpp"', 'what is another folder\'s is included as "troupe/core/')
        self.refuse("nn/a.cpp", '"passes/../passes/detail/walk.hpp"', "nn/passes/detail/ is for nn/passes/ alone")

    def test_a_library_is_linked_by_name(self):
        self.allow("engine/a.cpp", '"troupe/nn/compile.hpp"')
        reason = "actors/CMakeLists.txt does not link troupe::nn, but gets it through another"
        self.refuse("actors/a.cpp", '"troupe/nn/compile.hpp"', reason)

    def test_libraries_stay_where_they_are_known(self):
        self.allow("actors/a.cpp", '"caf/actor.hpp"')
        self.refuse("engine/a.cpp", '"caf/actor.hpp"', "CAF may be included by actors/, app/, tests/, bench/ alone")
        self.refuse("engine/a.cpp", "<cuda_runtime.h>", "CUDA may be included by gpu/")
        self.refuse("nn/a.cpp", "<oneapi/dnnl/dnnl.hpp>", "oneDNN may be included by cpu/")

    def test_what_is_not_there_is_said(self):
        self.refuse("nn/a.cpp", '"troupe/cores/graph.hpp"', "there is no folder cores/")


if __name__ == "__main__":
    unittest.main()
