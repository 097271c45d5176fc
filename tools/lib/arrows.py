"""arrows.py FILE...: checks the includes of the named sources against the layers of the design.

Includes are paths from the root of the repository. A folder includes its own headers and those of lower layers,
each of which its CMakeLists.txt links by name. Only the folder around a detail/, tests and benchmarks include headers
in it. Third-party libraries that shape a layer stay in it. Two subfolders of a folder do not include each other.
"""

import functools
import pathlib
import posixpath
import re
import sys

LAYERS = {
    "core": 0,
    "cpu": 1, "gpu": 1, "importers": 1,
    "collectives": 2, "nn": 2, "data": 2, "metrics": 2,
    "training": 3,
    "inference": 4,
    "actors": 5,
    "app": 6,
    "tests": 7, "bench": 7, "tools": 7,
}  # fmt: skip

# Included headers -> the folders (or paths) that may include them.
RESTRICTED = [
    (re.compile(r"caf/"), "CAF", ("actors/", "app/", "tests/", "bench/")),
    (
        re.compile(r"cuda|cublas|cudnn|curand|cupti|nvtx|nvml|nccl|cooperative_groups|cub/"),
        "CUDA",
        ("gpu/", "collectives/nccl", "collectives/shared_device", "tests/emulation", "tests/gpu", "bench/"),
    ),
    (re.compile(r"gloo/"), "Gloo", ("bench/",)),
    (re.compile(r"oneapi/|dnnl"), "oneDNN", ("cpu/", "tests/cpu", "bench/")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


@functools.cache
def linked(folder: str) -> set[str]:
    """The folders whose libraries a folder's target links. Tests and benchmarks are not checked."""
    return set(re.findall(r"troupe::([a-z]+)", pathlib.Path(folder, "CMakeLists.txt").read_text(encoding="utf-8")))


def from_root(path: str, header: str) -> str:
    """The path from the root of a file that is included by a relative or installed path; empty: none."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), header))
    candidates = (header.removeprefix("troupe/"), beside)
    return next((file for file in candidates if file != header and pathlib.Path(file).exists()), "")


def problem(path: str, header: str, quoted: bool = True) -> str | None:
    """Why `path` may not include `header`; None if it may."""
    folder = path.split("/")[0]
    if folder not in LAYERS:
        return None
    target = header.split("/")[0]
    if not quoted or target not in LAYERS:
        if quoted and (file := from_root(path, header)):
            return f'includes are paths from the root: "{file}"'
        restricted = (r for r in RESTRICTED if r[0].match(header) and not path.startswith(r[2]))
        return next((f"only {', '.join(allowed)} may include {name}" for _, name, allowed in restricted), None)
    if not pathlib.Path(header).exists():
        return f"there is no {header}"
    around, hidden, _ = header.rpartition("/detail/")
    above = LAYERS[folder] >= LAYERS["tests"]
    if hidden and not above and not path.startswith(f"{around}/"):
        return f"only {around}/ may include {around}/detail/"
    if target == folder or (above and LAYERS[target] >= LAYERS["tests"]):
        return None
    if LAYERS[target] >= LAYERS[folder]:
        return f"{folder}/ may not include {target}/, which is not below it"
    if not above and target not in linked(folder):
        return f"{folder}/CMakeLists.txt does not link troupe::{target} itself"
    return None


def room(path: str) -> str:
    """The subfolder that a file belongs to; a detail/ belongs to the folder around it. Empty: none."""
    folders = path.split("/")[:-1]
    if "detail" in folders:
        folders = folders[: folders.index("detail")]
    return "/".join(folders[:2]) if len(folders) > 1 and LAYERS.get(folders[0], 7) < LAYERS["tests"] else ""


class Rooms:
    """Includes between subfolders of a folder: two of them may include each other in one direction only."""

    def __init__(self):
        self.includes = {}  # (from, to): list of (path, line, header)

    def add(self, path: str, number: int, header: str) -> None:
        ours, theirs = room(path), room(header)
        if ours and theirs and ours != theirs and ours.split("/")[0] == theirs.split("/")[0]:
            self.includes.setdefault((ours, theirs), []).append((path, number, header))

    def failures(self) -> list[str]:
        """One failure for each include in the direction with fewer includes."""
        found = []
        for (ours, theirs), places in sorted(self.includes.items()):
            back = self.includes.get((theirs, ours), [])
            if (len(places), ours) < (len(back), theirs):
                found += [f"{path}:{number}: {ours}/ and {theirs}/ include each other ({header})" for path, number, header in places]
        return found


def main(paths: list[str]) -> int:
    failures, rooms = [], Rooms()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not (match := INCLUDE.match(line)):
                    continue
                rooms.add(path, number, match[2])
                if reason := problem(path, match[2], match[1] == '"'):
                    failures.append(f"{path}:{number}: {reason} ({match[2]})")
    failures += rooms.failures()
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
