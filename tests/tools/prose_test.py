"""tools/lib/prose.py finds sentences that are hard to read, and only those."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/lib"))
sys.dont_write_bytecode = True
import prose  # noqa: E402


def found(path, text):
    return [(number, rule) for number, rule, _ in prose.findings(path, text)]


class Prose(unittest.TestCase):
    def test_a_clause_in_the_place_of_a_noun_is_found(self):
        self.assertEqual(found("a.hpp", "/// What comes later is ignored.\n"), [(1, "headless")])
        self.assertEqual(found("a.hpp", "/// Later messages are ignored. Of a rank's slices, the last.\n"), [(1, "headless")])

    def test_behind_alone_and_persons_are_found(self):
        self.assertEqual(found("a.cpp", "// It runs behind the last step.\n"), [(1, "behind")])
        self.assertEqual(found("a.cpp", "// The leader alone writes.\n"), [(1, "alone")])
        self.assertEqual(found("a.cpp", "// A node is told by whoever leads.\n"), [(1, "person")])

    def test_plain_sentences_are_fine(self):
        text = "/// Returns the first slice of `rank`. Users who train on one host need no daemon. Normal weights (He et al. 2015).\n"
        self.assertEqual(found("a.hpp", text), [])

    def test_only_prose_is_read(self):
        self.assertEqual(found("a.cpp", 'const auto text = "What comes";\n'), [])
        self.assertEqual(found("a.md", "```\nWhat comes\n```\nThe name is `who`.\n"), [])
        self.assertEqual(found("a.yaml", "# What comes\n"), [])

    def test_a_sentence_is_found_at_its_line(self):
        text = "int x;\n// One sentence that ends\n// here. What follows is wrong.\nint y; ///< Who reads it\n"
        self.assertEqual(found("a.cpp", text), [(3, "headless"), (4, "headless"), (4, "person")])

    def test_cells_and_items_of_markdown_are_sentences(self):
        self.assertEqual(found("a.md", "| a | What it is |\n"), [(1, "headless")])
        self.assertEqual(found("a.md", "- Who it is\n"), [(1, "headless"), (1, "person")])


if __name__ == "__main__":
    unittest.main()
