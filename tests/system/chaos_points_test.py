"""The program has a function for every point of tools/chaos: a function that is renamed or inlined fails here, not in a long run."""

import pathlib
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/lib"))
sys.dont_write_bytecode = True

import chaos_points  # noqa: E402
import traps  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else ROOT / "build/release"
NOT_HERE = 77


class Points(unittest.TestCase):
    def test_every_point_is_a_function_of_the_program(self):
        program = traps.Program(BUILD / "app/troupe")
        for point in chaos_points.POINTS:
            with self.subTest(point.name):
                self.assertTrue(program.addresses(point.functions))
                if point.after:
                    self.assertTrue(program.addresses((point.after,)))

    def test_a_missing_function_is_reported(self):
        program = traps.Program(BUILD / "app/troupe")
        with self.assertRaises(traps.NoSuchFunction):
            program.addresses(("troupe::no_such_function",))


if __name__ == "__main__":
    if shutil.which("nm") is None:
        sys.exit(NOT_HERE)
    unittest.main()
