"""arrows.py FILE...: checks the includes of the named sources against the layers of the design.

A folder includes its own headers and those of lower layers; third-party libraries that shape a layer
stay in it. CMake's targets enforce most of this already; here each failure gets its file and line.
"""

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
    (re.compile(r"gloo/"), "Gloo", ("collectives/gloo", "bench/")),
    (re.compile(r"oneapi/|dnnl"), "oneDNN", ("cpu/", "tests/cpu", "bench/")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def problem(path: str, header: str) -> str | None:
    """Why `path` may not include `header`, or None when it may."""
    folder = path.split("/")[0]
    if folder not in LAYERS:
        return None
    if match := re.match(r"troupe/([a-z_]+)/", header):
        target = match[1]
        if target not in LAYERS:
            return f"there is no folder {target}/"
        if target != folder and LAYERS[target] >= LAYERS[folder]:
            return f"{folder}/ may not include {target}/: arrows go down only"
        return None
    for pattern, name, allowed in RESTRICTED:
        if pattern.match(header) and not path.startswith(allowed):
            return f"{name} may be included by {', '.join(allowed)} alone"
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
