"""Starts benchmarks that print one JSON object, ours and peers', and compares what they print."""
import json
import pathlib
import shlex
import statistics
import subprocess
import sys


def run_json(command):
    """The object that a program prints. One that prints none ends this program."""
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    name = pathlib.Path(sys.argv[0]).name
    return sys.exit(f"{name}: no result from {shlex.join(map(str, command))}")


def median(runs, key):
    return statistics.median(r[key] for r in runs)
