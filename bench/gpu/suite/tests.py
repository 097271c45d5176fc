"""The part `tests`: the GPU's test programs, in shards, so that a crash or a hang costs one shard."""

import math
import re
import time
from dataclasses import dataclass

from suite import machine, programs, shards
from suite.programs import Trouble

WHAT = "the programs with the tests labelled gpu, and those of the CUDA device that need no GPU"

PROGRAMS = ["troupe_gpu_tests", "troupe_gpu_collectives_tests", "troupe_gpu_system_tests"]
PROGRAMS += ["troupe_gpu_generations_tests"]
PROGRAMS += ["troupe_cudnn_tests", "troupe_gpu_host_tests"]  # which need no GPU
ASKS_CUDNN = "troupe_cudnn_tests"
TINY = ["-#", "[#kernels_test],[#flat_kernels_test]"]  # by the files they are in
SHARDS = 8
ALONE = "[alone]"  # of the first program: hidden, since nothing may run beside them
LONELY = "tests that run alone"
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS=32"  # as troupe itself asks for (gpu/wait_flags.hpp)

RULE = re.compile(r"^-{70,}$")
TOTALS = re.compile(r"(\d+) (passed|failed as expected|failed|skipped)")
ALL_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)")


class Reading:
    """What Catch2's console reporter says, line by line."""

    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures, self.skips = [], []
        self.test = ""  # the one whose troubles are printed
        self.heading = None  # its name, between two rules, before the indented sections
        self.skipping = False
        self.ended = False

    def line(self, line):
        if RULE.match(line):
            if self.heading is None:
                self.heading = []
            else:
                self.test, self.heading = " ".join(self.heading), None
        elif self.heading is not None:
            self.heading += [] if line.startswith(" ") else [line]
        elif line.endswith(": FAILED:"):
            self.failures += [self.test] if self.test not in self.failures else []
        elif line.endswith(": SKIPPED:"):
            self.skipping = True
        elif self.skipping and not line.startswith("explicitly"):
            self.skips.append(f"{self.test}: {line.strip()}")
            self.skipping = False
        elif match := ALL_PASSED.match(line):
            self.counts["passed"], self.ended = int(match[1]), True
        elif line.startswith("test cases:"):
            for count, kind in TOTALS.findall(line):
                self.counts["passed" if kind == "failed as expected" else kind] += int(count)
            self.ended = True


@dataclass(frozen=True)
class Piece:
    """Tests that one process runs."""

    what: str
    command: list
    prefix: str  # of its lines in the log


class Shard:
    until = math.inf

    def __init__(self, piece, log):
        self.what = piece.what
        self.reading = Reading()
        self.program = programs.Program(piece.command, log, piece.prefix)

    def is_done(self):
        return shards.read_on(self.program, self.reading)

    def trouble(self):
        """What the names of failed and skipped tests do not tell: None, or one line."""
        reason = shards.why_it_ended(self.program)
        told = self.reading.ended and (self.reading.failures or self.reading.skips)
        if not reason or (told and reason.startswith("exit code ")):
            return None
        return f"{self.what}: {reason} (last heard of: {self.reading.test or 'no test'})"

    def cut(self):
        return f"{self.what}: cut (last heard of: {self.reading.test or 'no test'})"


def command(suite, name, *arguments):
    """stdbuf: whole lines at once, so that what a killed program had said is in the log."""
    options = ["--durations", "yes", "--colour-mode", "none"]
    return ["env", CONNECTIONS, "stdbuf", "-oL", suite.program(name), *arguments, *options]


def shard(suite, name, index):
    """A shard of a small program may have no test."""
    words = ["--shard-count", str(SHARDS), "--shard-index", str(index), "--allow-running-no-tests"]
    tiny = TINY if suite.options.tiny and name == PROGRAMS[0] else []
    what = f"shard {index + 1} of {SHARDS}"
    return Piece(what, command(suite, name, *words, *tiny), f"{index + 1}/{SHARDS} ")


def lonely_tests(suite, name):
    """The tests that run alone: one piece, or none."""
    if name != PROGRAMS[0] or suite.options.tiny:
        return []
    return [Piece(LONELY, command(suite, name, ALONE, "--allow-running-no-tests"), "alone ")]


class Results:
    """Results of tests that run in pieces: the row `name` of the report's table."""

    def __init__(self, suite, log, name):
        self.suite, self.log, self.name = suite, log, name
        self.start = time.monotonic()
        self.found = {"passed": 0, "failed": 0, "skipped": 0, "seconds": 0.0}
        self.found.update(failures=[], skips=[], troubles=[])

    def run(self, pieces, jobs, deadline):
        waiting = [lambda piece=piece: Shard(piece, self.log) for piece in pieces]
        try:
            shards.run_some(waiting, jobs, deadline, self.keep)
        finally:
            late = pieces[len(pieces) - len(waiting) :]
            self.found["troubles"] += [f"{piece.what}: no time left" for piece in late]
            self.put()

    def skip(self, reason):
        self.found["skips"].append(f"all: {reason}")
        self.put()

    def put(self):
        self.suite.report.data["tests"][self.name] = self.found
        self.suite.report.save()

    def keep(self, shard, was_cut):
        trouble = shard.cut() if was_cut else shard.trouble()
        for key, count in shard.reading.counts.items():
            self.found[key] += count
        self.found["failures"] += shard.reading.failures
        self.found["skips"] += shard.reading.skips
        self.found["troubles"] += [trouble] if trouble else []
        self.found["seconds"] = round(time.monotonic() - self.start, 1)
        self.put()

    def why_bad(self):
        """None where all is well."""
        if self.found["failed"] or self.found["troubles"]:
            return self.name
        return None if self.found["passed"] else f"{self.name} (nothing passed)"


def chosen(suite):
    programs_here = [name for name in PROGRAMS if suite.has(name) and suite.wanted(name)]
    return programs_here[:1] if suite.options.tiny else programs_here


def plan(suite):
    for name in chosen(suite):
        yield f"# {SHARDS} shards, {suite.options.jobs} at a time"
        yield from (piece.command for piece in [shard(suite, name, 0), *lonely_tests(suite, name)])


def run_program(suite, log, name, deadline):
    """Returns why it is bad, or None."""
    results = Results(suite, log, name)
    if name == ASKS_CUDNN and machine.is_emulated(suite):
        results.skip("they ask the real cuDNN, which knows no emulated device")
        return None
    suite.say(f"tests: {name}")
    results.run([shard(suite, name, index) for index in range(SHARDS)], suite.options.jobs, deadline)
    results.run(lonely_tests(suite, name), 1, deadline)
    return results.why_bad()


def run_part(suite, log, deadline):
    if not suite.has(PROGRAMS[0]):
        raise Trouble(f"{PROGRAMS[0]} is not here: built without CUDA?")
    ended = [run_program(suite, log, name, deadline) for name in chosen(suite)]
    if bad := [why for why in ended if why]:
        raise Trouble(f"not green: {', '.join(bad)}")
