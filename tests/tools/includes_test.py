"""Every include of ours is the path of an existing file, from the root of the repository: no build is needed to resolve it."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("actors", "app", "bench", "collectives", "core", "cpu", "data", "gpu", "importers", "inference", "metrics", "nn", "tests", "tools", "training")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def sources():
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".c", ".h") and path.is_file():
                yield path


class Includes(unittest.TestCase):
    def test_every_include_names_a_file_from_the_root(self):
        missing, found = [], 0
        for path in sources():
            for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                found += 1
                if header.split("/")[0] not in FOLDERS or not (ROOT / header).is_file():
                    missing.append(f"{path.relative_to(ROOT)}: {header}")
        self.assertEqual(missing, [])
        self.assertGreater(found, 4000)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
