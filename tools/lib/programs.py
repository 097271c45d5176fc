"""Builds the programs of two commits on one machine, and starts runs of them."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from short_runs import CONFIG, ROOT

SIDES = ("before", "after")
OWN = ("metrics.listen=off", "run.name=run")
LONGEST = 600  # time limit of a run, in seconds


class Trouble(Exception):
    """A failed build or start, in one line."""


def git(*arguments, folder=ROOT):
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Trouble(done.stderr.strip())
    return done.stdout.strip()


def check_out(commit, folder):
    """Checks the commit out in a worktree. Keeps earlier build files, so that ninja resumes."""
    if (folder / ".git").exists():
        git("checkout", "--quiet", "--detach", commit, folder=folder)
    else:
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    if not (folder / ".deps").exists():
        (folder / ".deps").symlink_to(ROOT / ".deps")


def build(commit, folder, emulated, jobs, more_options=()):
    """Builds the program of a commit. With ccache, compiles each source separately, so that sources shared by two commits are compiled once."""
    check_out(git("rev-parse", "--verify", commit + "^{commit}"), folder)
    built = folder / "build" / ("emulated" if emulated else "host")
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "TROUPE_CUDA": "EMULATED" if emulated else "OFF",
        "TROUPE_BENCH": "OFF",
        "CMAKE_UNITY_BUILD": "OFF" if shutil.which("ccache") else "ON",
    }
    configure = ["cmake", "-S", folder, "-B", built, "-G", "Ninja"]
    configure += [*(f"-D{name}={value}" for name, value in options.items()), *more_options]
    for command in (configure, ["cmake", "--build", built, "--target", "troupe", "-j", str(jobs)]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Trouble(f"{commit} does not build:\n{done.stdout[-3000:]}")
    return built / "app/troupe"


def environment(isa="best"):
    """The environment of every run: a shared cache for the compiled kernels of emulated GPUs, and two such GPUs."""
    return {
        **os.environ,
        "TROUPE_ISA": isa,
        "OMP_NUM_THREADS": "1",
        "XDG_CACHE_HOME": str(ROOT / "build/same-bits/cache"),
        "TROUPE_EMULATED_DEVICES": "2",
    }


def command(program, verb, settings):
    given = [word for setting in (*OWN, *settings) for word in ("--set", setting)]
    return [str(program), verb, str(CONFIG), "--quiet", *given]


def train(program, output, settings, isa="best"):
    """Runs a training in the foreground. Raises Trouble with its output if it fails."""
    done = subprocess.run(
        command(program, "train", (*settings, f"run.output={output}")),
        env=environment(isa), capture_output=True, text=True, timeout=LONGEST,
    )  # fmt: skip
    if done.returncode != 0:
        raise Trouble(done.stderr.strip() or f"exit code {done.returncode}")


@contextlib.contextmanager
def leader(program, output, settings):
    """Starts a daemon that others can join, and yields it with its address. Ends it by a signal: it would wait forever."""
    words = command(program, "node", (*settings, f"run.output={output}", "cluster.listen=127.0.0.1:0"))
    words.remove("--quiet")
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, env=environment(), stdout=said, stderr=subprocess.STDOUT)
        try:
            yield process, address_of(process, said)
        finally:
            process.terminate()
            process.wait()


def address_of(process, said):
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and process.poll() is None:
        said.seek(0)
        lines = said.read().split("\n")
        found = [line.split("daemon at ")[1].split()[0] for line in lines[:-1] if "daemon at " in line]
        if found:
            return found[0].rstrip(",;")
        time.sleep(0.05)
    said.seek(0)
    raise Trouble(said.read().strip() or "the daemon never was ready")


def train_on_nodes(program, output, settings, count):
    """Trains one job on several daemons; the leader writes the summary to `output`."""
    with leader(program, output, settings) as (first, address):
        own = [(*settings, f"run.output={output}-{i}", "cluster.listen=127.0.0.1:0") for i in range(1, count)]
        others = [
            subprocess.Popen([*command(program, "node", s), "--join", address], env=environment(), stdout=subprocess.DEVNULL)
            for s in own
        ]
        codes = [other.wait(LONGEST) for other in others]
        end = time.monotonic() + LONGEST
        while not (output / "run/summary.json").exists():
            if any(codes) or first.poll() is not None or time.monotonic() > end:
                raise Trouble(f"a node has failed: exit codes {codes}")
            time.sleep(0.05)


def summary(output):
    return json.loads(pathlib.Path(output, "run/summary.json").read_text(encoding="utf-8"))
