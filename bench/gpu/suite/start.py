"""The part `start`, first of --first: how long a start takes, with a clock beside what it says, and the
quickest check of which plans it takes: the same step with fused convolutions and without.
"""

import re
import time

from suite import programs
from suite.programs import Trouble
from suite.rows import AMP

WHAT = "a start of the AMP step beside a clock, again with the plans found, and with --fusion basic"

# Name, the program's options, and seconds that it may take. What the first has found is on disk for the
# second, also where the first was cut.
STARTS = [
    ("first", [], 180.0),
    ("again", [], 60.0),
    ("basic", ["--fusion", "basic"], 60.0),
]
SEARCHED = re.compile(r"(plan of .*|.*: no plan for .*) \(([0-9.]+) s")  # as gpu/lowering/plan_book.cpp says it


def command(suite, options):
    return [*suite.our_step(AMP, 1), *options]


def plan(suite):
    yield from (command(suite, options) for _, options, _ in STARTS)


class Clock:
    """Counts what a start says of its searches."""

    def __init__(self):
        self.begin = time.monotonic()
        self.searches = 0
        self.search_seconds = 0.0

    def hear(self, line):
        if match := SEARCHED.search(line):
            self.searches += 1
            self.search_seconds += float(match[2])

    def seconds(self):
        return round(time.monotonic() - self.begin, 2)


def run_one(suite, log, name, options, limit):
    """Keeps what is known of it, also of one that was cut. Raises Trouble."""
    clock = Clock()
    row = suite.report.row("start", name)
    try:
        result = programs.run_for_object(command(suite, options), limit, log, clocked=True, hear=clock.hear)
        row.update({key: result.get(key) for key in ("images_per_second", "ms", "peak_memory_mib", "startup")})
    except Trouble as trouble:
        row["why"] = str(trouble)
        raise
    finally:
        row.update(seconds=clock.seconds(), searches=clock.searches)
        row.update(search_seconds=round(clock.search_seconds, 1))
        suite.report.save()


def run_part(suite, log, deadline):
    troubles = []
    for name, options, limit in STARTS:
        left = deadline - time.monotonic()
        if left < 1:
            troubles.append(f"{name}: no time left")
            break
        suite.say(f"start: {name}")
        try:
            run_one(suite, log, name, options, min(limit, left))
        except Trouble as trouble:
            troubles.append(f"{name}: {trouble}")
    if troubles:
        raise Trouble("; ".join(troubles))
