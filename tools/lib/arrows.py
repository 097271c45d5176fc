"""arrows.py FILE...: checks the includes of the named sources against the layers of the design.

A folder includes its own headers and those of lower layers, each of which its CMakeLists.txt links by
name; what lies in a detail/ is for the folder around it alone, and for tests and benchmarks; third-party
libraries that shape a layer stay in it. CMake's targets enforce some of this already; here each failure
gets its file and line.
"""

import functools
import pathlib
import posixpath
import re
import sys

LAYERS = {
    "core": 0,
    "cpu": 1, "gpu": 1,
    "collectives": 2, "nn": 2, "data": 2, "metrics": 2,
    "engine": 3,
    "actors": 4,
    "app": 5,
    "tests": 6, "bench": 6, "tools": 6,
}  # fmt: skip

# What is included -> the folders (or paths) that may.
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

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def included(path: str, header: str) -> str:
    """The file of ours that an include names, from the top of the tree; else the header as it is."""
    if header.startswith("troupe/"):
        return header.removeprefix("troupe/")
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), header))
    return beside if pathlib.Path(beside).exists() else header


@functools.cache
def linked(folder: str) -> set[str]:
    """The folders whose libraries a folder's target names; with tests and benchmarks that is theirs to say."""
    return set(re.findall(r"troupe::([a-z]+)", pathlib.Path(folder, "CMakeLists.txt").read_text(encoding="utf-8")))


def problem(path: str, header: str) -> str | None:
    """Why `path` may not include `header`, or None when it may."""
    folder = path.split("/")[0]
    if folder not in LAYERS:
        return None
    file = included(path, header)
    target = file.split("/")[0]
    ours = target in LAYERS and "/" in file
    if header.startswith("troupe/") and not ours:
        return f"there is no folder {target}/"
    if not ours:
        restricted = (r for r in RESTRICTED if r[0].match(header) and not path.startswith(r[2]))
        return next((f"{name} may be included by {', '.join(allowed)} alone" for _, name, allowed in restricted), None)
    around, hidden, _ = file.rpartition("/detail/")
    above = LAYERS[folder] >= LAYERS["tests"]
    if hidden and not above and not path.startswith(f"{around}/"):
        return f"{around}/detail/ is for {around}/ alone"
    if target == folder or (above and LAYERS[target] >= LAYERS["tests"]):
        return None
    if LAYERS[target] >= LAYERS[folder]:
        return f"{folder}/ may not include {target}/: arrows go down only"
    if not header.startswith("troupe/"):
        return f'what is another folder\'s is included as "troupe/{file}"'
    if not above and target not in linked(folder):
        return f"{folder}/CMakeLists.txt does not link troupe::{target}, but gets it through another"
    return None


def main(paths: list[str]) -> int:
    failures = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                if match and (reason := problem(path, match[1])):
                    print(f"{path}:{number}: {reason} ({match[1]})")
                    failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
