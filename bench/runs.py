"""Starts `troupe train` for benchmarks of whole runs, and reads what they say of themselves."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMON = {"metrics.listen": "off", "checkpoint.resume": "never"}


def add_arguments(parser, config):
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--config", type=pathlib.Path, default=ROOT / "configs" / config)


def start(args, output, name, settings):
    """One run, at once; its files go to output/name/."""
    command = [args.build / "app/troupe", "train", args.config, "--quiet"]
    own = {"run.name": name, "run.output": output}
    for key, value in {**COMMON, **settings, **own}.items():
        command += ["--set", f"{key}={value}"]
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def summary(output, name, process):
    """What the run wrote once it has ended. A run that failed ends this program with what it said."""
    said = process.communicate()[1]
    if process.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: run {name} has failed: {said.strip()}")
    return json.loads(pathlib.Path(output, name, "summary.json").read_text())
