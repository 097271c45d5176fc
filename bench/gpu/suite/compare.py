"""The part `compare`: the reference comparison's table on one GPU, by `troupe compare`: a command a row, so
that a mode that hangs costs its own row only.
"""

import json
import pathlib
import tempfile
import time
from dataclasses import dataclass

from suite import cifar10, programs
from suite.programs import OutOfTime, Trouble

WHAT = "ResNet-50 on CIFAR-10 at 224 in every mode, a few steps each: troupe compare's table"
NEEDS = ("the seven files of CIFAR-10",)
why_skipped = cifar10.why_skipped
RANKS = 2  # which share the GPU, unless there are as many
ROW_LIMIT = 150.0
LEAST = 15.0  # seconds that are left for each later row; none is begun with less
TINY = {"model.name": "resnet18", "model.stem": "cifar", "data.image_size": 8, "data.batch_size": 8}
TINY.update({"train.max_steps": 2, "train.evaluate_every": 0, "parallel.wrap": "per_block"})


@dataclass(frozen=True)
class Row:
    strategy: str
    precision: str = "fp32"

    @property
    def name(self):
        return f"{self.strategy}-{self.precision}"

    @property
    def config(self):
        return f"configs/{'single_fp32' if self.strategy == 'single' else self.strategy}.yaml"


ROWS = [Row("single", precision) for precision in ("fp32", "fp16", "amp_fp16")]
ROWS += [Row(strategy) for strategy in ("dp", "ddp", "zero1", "zero2", "zero3")]


def command(suite, row, output):
    settings = {
        "devices.kind": "cuda",
        "devices.count": RANKS,
        "data.root": suite.data,
        "train.max_steps": suite.options.steps,
        "checkpoint.every": "never",
        "metrics.listen": "127.0.0.1:0",
        **(TINY if suite.options.tiny else {}),
    }
    changes = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    modes = ["--strategies", row.strategy, "--precisions", row.precision]
    return [suite.program("troupe"), "compare", suite.root / row.config, *modes, "--output", output, *changes]


def chosen(suite):
    return [row for row in ROWS if suite.wanted(row.name)]


def plan(suite):
    yield from (command(suite, row, "OUTPUT") for row in chosen(suite))


def keep_log(path, log):
    if path.is_file():
        log.write(path.read_text(errors="replace"))


def run_row(suite, row, log, seconds):
    """Keeps the table's head and the row as they are. Raises Trouble."""
    found = suite.report.data["compare"]
    with tempfile.TemporaryDirectory(prefix="troupe-compare-", ignore_cleanup_errors=True) as output:
        try:
            programs.run(command(suite, row, output), seconds, log)
        finally:
            keep_log(pathlib.Path(output, f"{row.name}.log"), log)
            keep_row(found, row, pathlib.Path(output))


def keep_row(found, row, output):
    """Also that of a mode that has failed: it says why."""
    if not (output / "compare.md").is_file():
        return
    *head, line = (output / "compare.md").read_text().splitlines()
    found["head"] = head
    found.setdefault("lines", {})[row.name] = line
    found.setdefault("runs", []).extend(json.loads((output / "compare.json").read_text())["runs"])


def note(found, row, trouble, has_own_limit):
    kind = "failed" if has_own_limit or not isinstance(trouble, OutOfTime) else "left_out"
    found.setdefault(kind, {})[row.name] = str(trouble)


def run_part(suite, log, deadline):
    cifar10.check(suite)
    found, rows = suite.report.data["compare"], chosen(suite)
    found["steps"] = TINY["train.max_steps"] if suite.options.tiny else suite.options.steps
    for i, row in enumerate(rows):
        left = deadline - time.monotonic() - LEAST * len(rows[i + 1 :])
        if left < LEAST:
            found.setdefault("left_out", {})[row.name] = "no time left"
            continue
        suite.say(f"compare: {row.name}")
        try:
            run_row(suite, row, log, min(left, ROW_LIMIT))
        except Trouble as trouble:
            note(found, row, trouble, left >= ROW_LIMIT)
        suite.report.save()
    if found.get("failed"):
        raise Trouble(f"rows that failed: {', '.join(found['failed'])}")


def section(found):
    """For the report: lines as `troupe compare` has written them."""
    if found.get("lines"):
        yield from ("", "## Comparison of modes", "")
        yield f"{found['steps']} steps of each: times and memory count; so few say nothing of the accuracy that it"
        yield f"reaches. {RANKS} workers share the GPU where there is one."
        yield from ("", *found["head"], *found["lines"].values())


def missing(found):
    yield from (f"{name}: FAILED, {why}" for name, why in found.get("failed", {}).items())
    yield from (f"{name}: {why}" for name, why in found.get("left_out", {}).items())
