"""The parts that start our training step, each for one model: the time of a start with and without plans, and
the plans that it takes. Each line of a start is logged with its time.
"""

import re
import time
from dataclasses import dataclass

from suite import cudnn, programs, roofline
from suite.programs import Trouble
from suite.rows import AMP, GPT2, SMALL

LOG = "start"
SEARCHED = re.compile(r"(plan of .*|.*: no plan for .*) \(([0-9.]+) s")  # as gpu/lowering/plan_registry.cpp says it


BASIC = ("--fusion", "basic")


@dataclass(frozen=True)
class Start:
    """A start in a part. Plans that the first has found are on disk for the later ones, even if it was cut."""

    name: str
    most: float  # seconds
    share: float = 1  # of the time that is left
    words: tuple = ()  # more options of the program
    seconds: float = 1  # of steps
    warmup: int = 10
    least_steps: int = 20


class Clock:
    """Counts the searches that a start reports."""

    def __init__(self, suite):
        self.suite = suite
        self.begin = time.monotonic()
        self.searches = 0
        self.search_seconds = 0.0

    def hear(self, line):
        cudnn.hear(self.suite, line)
        if match := SEARCHED.search(line):
            self.searches += 1
            self.search_seconds += float(match[2])

    def seconds(self):
        return round(time.monotonic() - self.begin, 2)


class Starts:
    """A part."""

    LOG = LOG

    def __init__(self, name, what, case, starts, needs_cudnn=True):
        self.name, self.WHAT, self.case, self.starts = name, what, case, starts
        self.needs_cudnn = needs_cudnn
        self.NEEDS = ("cuDNN",) if needs_cudnn else ()

    def command(self, suite, start):
        counts = {"warmup": start.warmup, "least_steps": start.least_steps}
        return [*suite.our_step(self.case, start.seconds, **counts), *start.words]

    def plan(self, suite):
        yield from (self.command(suite, start) for start in self.starts)

    def run_part(self, suite, log, deadline):
        if self.needs_cudnn:
            cudnn.check(suite)
        troubles = []
        for start in self.starts:
            left = start.share * (deadline - time.monotonic())
            if left < 1:
                troubles.append(f"{start.name}: no time left")
                continue
            suite.say(f"{self.name}: {start.name}")
            try:
                self.run_one(suite, log, start, min(start.most, left))
            except Trouble as trouble:
                troubles.append(f"{start.name}: {trouble}")
            if self.needs_cudnn and suite.report.data.get("no_cudnn"):
                raise Trouble(suite.report.data["machine"][cudnn.FACT])
        if troubles:
            raise Trouble("; ".join(troubles))

    def run_one(self, suite, log, start, limit):
        """Keeps the figures of a start, of one that was cut too. Raises Trouble."""
        clock = Clock(suite)
        row = suite.report.row("start", f"{self.name} {start.name}")
        row.update(case=self.case.name, basic=start.words == BASIC)
        try:
            command = self.command(suite, start)
            result = programs.run_for_object(command, limit, log, clocked=True, hear=clock.hear)
            self.keep(suite, row, result)
        except Trouble as trouble:
            row["why"] = str(trouble)
            raise
        finally:
            row.update(seconds=clock.seconds(), searches=clock.searches)
            row.update(search_seconds=round(clock.search_seconds, 1))
            suite.report.save()

    def keep(self, suite, row, result):
        rate = self.case.rate
        row.update({key: result.get(key) for key in (rate, "ms", "peak_memory_mib", "startup", "loss")})
        if "profile" in result:
            roofline.keep(suite.report, self.case, result)
        if "loss" in result and result["loss"] is None:  # JSON has no NaN
            raise Trouble("the loss is not finite")


def has_started(suite, case):
    """Whether this run has started this step before, so that all of its plans are on disk."""
    rows = suite.report.rows("start").values()
    return any(row["case"] == case.name and "why" not in row and not row["basic"] for row in rows)


RESNET18 = Starts(
    "resnet18",
    "starts of a small step: search for plans, their cache, capture and replay",
    SMALL,
    [Start("first", 60, 0.7), Start("again", 30)],
)
RESNET50 = Starts(
    "resnet50",
    "a start of the AMP step beside a clock, again with the plans found, and with --fusion basic",
    AMP,
    [Start("first", 180, 0.6), Start("again", 60, 0.7), Start("basic", 60, words=BASIC)],
)
GPT2_STEPS = Starts(
    "gpt2",
    "ten steps of a language model on random tokens, and each node of one beside the roofline",
    GPT2,
    [Start("first", 120, words=("--profile",), seconds=0, warmup=3, least_steps=10)],
    needs_cudnn=False,
)
