"""CUDA's libraries, wherever this machine has them: their folders go into $TROUPE_CUDA_LIBRARIES, which our
programs search first.
"""

import glob
import os
import pathlib

from suite import programs
from suite.programs import Trouble

PLACES = "TROUPE_CUDA_LIBRARIES"
WANTED = ("libcudnn.so.9", "libcublasLt.so.13", "libnvrtc.so.13", "libnccl.so.2")
TOOLKIT = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/*/lib")
ROOTS = ("/opt", "/usr", "/home", "/root", "/")  # the likely ones first
UNSEARCHED = ("/proc", "/sys", "/dev", "/run")
ASK_LIMIT = 12.0
SEARCH_LIMIT = 5.0

# Run by the Python itself, which may be a wrapper script or a link.
ASK = """
import glob, json, sys
print(json.dumps({"libraries": [found for place in sys.path for found in glob.glob(place + "/nvidia/*/lib")]}))
"""


def split(places):
    return [place for place in places.split(":") if place]


def beside_python(suite, log):
    """The folders of the packages of --python: our programs look beside the python3 of the search path only."""
    try:
        return programs.run_for_object([*suite.python, "-c", ASK], ASK_LIMIT, log).get("libraries", [])
    except Trouble:
        return []


def loader_names(log):
    """The names in the loader's cache."""
    lines = []
    try:
        programs.run(["/sbin/ldconfig", "-p"], 5, log, lines.append)
    except Trouble:
        pass
    return {line.split()[0] for line in lines if "=>" in line}


def missing(suite, places, log):
    """The wanted libraries that our programs would not find by themselves."""
    wheels = glob.glob(str(suite.root / ".deps/cuda/nvidia/*/lib"))
    folders = [*places, *wheels, *split(os.environ.get("LD_LIBRARY_PATH", ""))]
    folders += [found for pattern in TOOLKIT for found in glob.glob(pattern)]
    lost = [name for name in WANTED if not any(pathlib.Path(folder, name).exists() for folder in folders)]
    known = loader_names(log) if lost else set()
    return [name for name in lost if name not in known]


def search_command(names):
    unsearched = [word for path in UNSEARCHED for word in ("-o", "-path", path)][1:]
    wanted = [word for name in names for word in ("-o", "-name", name)][1:]
    return ["find", *ROOTS, "(", *unsearched, ")", "-prune", "-o", "(", *wanted, ")", "-print"]


def search_disk(names, log):
    """Returns {library: the first folder found}, after SEARCH_LIMIT at the latest. Unreadable folders, and a
    search that was cut, are no failure.
    """
    found = {}

    def keep(line):
        path = pathlib.Path(line)
        if path.name in names:
            found.setdefault(path.name, str(path.parent))

    try:
        programs.run(search_command(names), SEARCH_LIMIT, log, keep)
    except Trouble as trouble:
        log.write(f"search of the disk: {trouble}\n")
    return found


def find(suite, log):
    """Extends $TROUPE_CUDA_LIBRARIES. The report names the libraries that were searched on the disk."""
    places = split(os.environ.get(PLACES, ""))
    places += [place for place in beside_python(suite, log) if place not in places]
    if lost := missing(suite, places, log):
        found = search_disk(lost, log)
        places += dict.fromkeys(place for place in found.values() if place not in places)
        told = [f"{name} in {found[name]}" if name in found else f"{name} not found" for name in lost]
        suite.report.data["machine"]["libraries searched on the disk"] = "; ".join(told)
    os.environ[PLACES] = ":".join(places)
