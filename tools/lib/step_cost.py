"""The cost of a step of two programs: instructions, messages, processor time. Each is the difference of two runs of different length, so that
work before and after the steps does not count."""

import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

import programs
import short_runs

FEWER, MORE = 10, 20  # steps
STEPS = MORE - FEWER
QUIET = (
    "data.limit=512 train.evaluate_every=0 checkpoint.every=never checkpoint.resume=never devices.kind=cpu"
)
MODES = {"single": 1, "ddp": 2, "zero3": 2}
# METRICS and MEMBERSHIP also receive timer messages.
COUNTED_ROWS = ("coordinator", "data_loader", "worker", "shard_manager")


def settings(strategy, steps, output):
    mode = short_runs.together(strategy, MODES[strategy])
    return (*short_runs.words(f"{QUIET} {mode} train.max_steps={steps}"), f"run.output={output}")


def report(what, name, before, after, bound):
    """Prints one line; returns whether `after` is within `bound` times `before`."""
    ratio = after / before
    print(f"{what:<14} {name:<8} {before:>16,.6g} {after:>16,.6g}   ratio {ratio:.4f}, allowed {bound}", flush=True)
    return ratio <= bound


def counted_instructions(program, strategy, steps):
    with tempfile.TemporaryDirectory() as output:
        counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run(
            [*counter, "--fair-sched=yes", *programs.command(program, "train", settings(strategy, steps, output))],
            env=programs.environment("avx2"), capture_output=True, text=True,
        )  # fmt: skip
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        raise programs.Trouble(f"valgrind: {done.stderr.strip()[-800:]}")
    return int(found[1].replace(",", ""))


def compare_instructions(binaries):
    """At avx2, which valgrind supports, with one worker of one thread."""
    if not shutil.which("valgrind"):
        raise programs.Trouble("needs valgrind, of Debian's package of that name")
    before, after = (
        (counted_instructions(p, "single", MORE) - counted_instructions(p, "single", FEWER)) / STEPS for p in binaries
    )
    return report("instructions", "single", before, after, 1.01)


def counted_messages(program, strategy, steps):
    """Counts messages of the roles that take part in a step: the timeline has a span for each handled message."""
    with tempfile.TemporaryDirectory() as output:
        trace = pathlib.Path(output, "trace.json")
        words = [*programs.command(program, "train", settings(strategy, steps, output)), f"--trace={trace}"]
        done = subprocess.run(words, env=programs.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise programs.Trouble(done.stderr.strip())
        events = json.loads(trace.read_text(encoding="utf-8"))
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    handled = [e for e in events if e.get("cat") == "handler" and rows[e["tid"]] in COUNTED_ROWS]
    return collections.Counter(f"{rows[e['tid']]} {e['name']}" for e in handled)


def compare_messages(binaries):
    good = True
    for strategy in MODES:
        counts = []
        for program in binaries:
            more = counted_messages(program, strategy, MORE)
            more.subtract(counted_messages(program, strategy, FEWER))
            counts.append(more)
        good &= report("messages", strategy, *(sum(count.values()) / STEPS for count in counts), 1)
        for name in sorted({*counts[0], *counts[1]}):
            if counts[0][name] != counts[1][name]:
                print(f"  {name}: {counts[0][name] / STEPS:g}, now {counts[1][name] / STEPS:g}")
    return good


def processor_seconds(program, strategy):
    with tempfile.TemporaryDirectory() as output:
        larger = ("train.max_steps=60", "data.image_size=32", "data.batch_size=32", "train.epochs=100")
        words = programs.command(program, "train", (*settings(strategy, 60, output), *larger))
        process = subprocess.Popen(words, env=programs.environment(), stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise programs.Trouble(f"a run of {program} has failed")
    return used.ru_utime + used.ru_stime


def compare_time(binaries, rounds):
    """Alternates whole runs, so that a machine that slows down does so for both."""
    good = True
    for strategy in MODES:
        times = [[processor_seconds(program, strategy) for program in binaries] for _ in range(rounds)]
        good &= report("processor time", strategy, *map(statistics.median, zip(*times)), 1.03)
    return good
