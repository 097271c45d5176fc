"""The part `sanitizer`: compute-sanitizer over the tests of our kernels, each in a process of its own, so that
what it finds has a test's name, and a crash or a hang costs one test.
"""

import os
import pathlib
import re
import shutil
import time

from suite import machine, programs, shards
from suite.programs import Trouble
from suite.tests import CONNECTIONS, PROGRAMS, Reading

WHAT = "compute-sanitizer's memcheck, racecheck and synccheck over the tests of our kernels, one by one"
NEEDS = ("compute-sanitizer",)
NAME = "compute-sanitizer"
PROGRAM = PROGRAMS[0]
TOOLS = {"memcheck": 0.35, "racecheck": 0.7, "synccheck": 1.0}  # of the time that is left, which each may take
# Files of tests: those of single kernels before those of whole ops.
FILES = ("kernels_test", "language_kernels_test", "batch_norm_test", "flat_kernels_test", "batch_norm_ranks_test")
FILES += ("augment_test", "ops_test")
TEST_LIMIT = 120.0
EXIT_CODE = 86  # where it has found something
# Errors that an API call returns are the tests' own matter; kernels of libraries are not ours.
OPTIONS = ["--error-exitcode", EXIT_CODE, "--print-limit", 20, "--report-api-errors", "no", "--require-cuda-init", "no"]
OPTIONS += ["--target-processes", "all", "--kernel-name", "kns=troupe"]

SAYS = re.compile(r"^========= (\S.*)")  # details of a finding stand further to the right
SUMMARY = re.compile(r"^(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards? displayed)")
NO_FINDING = re.compile(r"^(COMPUTE-SANITIZER|\w+ SUMMARY|Target application)")
FIRST = 3  # findings of a test that the report has


def places():
    """Where a toolkit has it, besides the search path."""
    roots = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    if nvcc := shutil.which("nvcc"):
        roots.append(pathlib.Path(nvcc).resolve().parents[1])
    for root in [root for root in roots if root] + ["/usr/local/cuda"]:
        yield from (pathlib.Path(root, folder) for folder in ("bin", NAME, f"extras/{NAME}"))


def find():
    """Its path, or None."""
    found = [shutil.which(NAME), *(place / NAME for place in places())]
    return next((path for path in found if path and os.access(path, os.X_OK) and os.path.isfile(path)), None)


def why_skipped(suite):
    if machine.is_emulated(suite):
        return f"{NAME} sees no kernels of an emulated device"
    if not find():
        return f"no {NAME} in the search path, beside nvcc or below {', '.join(map(str, places()))}"
    return None


def command(suite, tool, test):
    test = re.sub(r"([\\,\[\]])", r"\\\1", test)  # as Catch2 reads names
    checked = [find() or NAME, "--tool", tool, *OPTIONS, suite.program(PROGRAM)]
    return ["env", CONNECTIONS, "stdbuf", "-oL", *checked, test, "--colour-mode", "none"]


def list_command(suite, file):
    return [suite.program(PROGRAM), "-#", f"[#{file}]", "--list-tests", "--verbosity", "quiet"]


def plan(suite):
    yield [find() or NAME, "--version"]
    yield from (list_command(suite, file) for file in FILES)
    yield from (command(suite, tool, "NAME OF A TEST") for tool in TOOLS)


def names_of_tests(suite, log):
    found = []
    for file in FILES:
        programs.run(list_command(suite, file), 60, log, found.append)
    return found[:2] if suite.options.tiny else found


class Findings:
    """What a tool says, line by line."""

    def __init__(self):
        self.count = None  # not known before the summary
        self.first = []

    def line(self, line):
        if not (match := SAYS.match(line)):
            return
        if summary := SUMMARY.match(match[1]):
            self.count = (self.count or 0) + int(summary[1])
        elif not NO_FINDING.match(match[1]) and len(self.first) < FIRST:
            self.first.append(match[1])


class Check:
    """A tool over a test."""

    def __init__(self, suite, log, tool, test, until):
        self.test, self.until = test, until
        self.findings, self.reading = Findings(), Reading()
        self.program = programs.Program(command(suite, tool, test), log, f"{tool}: ", hear=self.findings.line)

    def is_done(self):
        return shards.read_on(self.program, self.reading)

    def trouble(self):
        """Why it says nothing about the kernels, or None."""
        reason = shards.why_it_ended(self.program)
        if self.reading.failures:
            return "the test failed"
        if self.findings.count is None or (reason and not self.findings.count and not self.reading.skips):
            return reason or "ended without a summary"
        return None


class Tool:
    """One tool over all tests, some at a time."""

    def __init__(self, suite, log, name, tests):
        self.suite, self.log, self.name, self.tests = suite, log, name, tests
        self.begin = time.monotonic()
        self.found = {"clean": [], "findings": {}, "failed": {}, "left_out": [], "seconds": 0.0}
        suite.report.data["sanitizer"][name] = self.found

    def run(self, deadline):
        self.deadline = deadline
        waiting = [lambda test=test: self.start(test) for test in self.tests]
        try:
            shards.run_some(waiting, self.suite.options.jobs, deadline, self.keep)
        finally:
            self.found["left_out"] += self.tests[len(self.tests) - len(waiting) :]
            self.suite.report.save()

    def start(self, test):
        until = time.monotonic() + TEST_LIMIT
        return Check(self.suite, self.log, self.name, test, until)

    def keep(self, check, was_cut):
        findings = check.findings
        if findings.count or findings.first:
            self.found["findings"][check.test] = {"count": findings.count, "first": findings.first}
        elif was_cut and check.until > self.deadline:
            self.found["left_out"].append(check.test)
        elif trouble := f"no end within {TEST_LIMIT:.0f} s" if was_cut else check.trouble():
            self.found["failed"][check.test] = trouble
        else:
            self.found["clean"].append(check.test)
        self.found["seconds"] = round(time.monotonic() - self.begin, 1)
        self.suite.report.save()


def version(log):
    lines = []
    programs.run([find(), "--version"], 30, log, lines.append)
    return next((line for line in lines if "ersion" in line), lines[-1] if lines else "")


def run_part(suite, log, deadline):
    if not suite.has(PROGRAM):
        raise Trouble(f"{PROGRAM} is not here: built without CUDA?")
    suite.report.data["machine"][NAME] = version(log)
    tests, bad = names_of_tests(suite, log), []
    for tool, share in TOOLS.items():
        suite.say(f"sanitizer: {tool}, {len(tests)} tests")
        now = time.monotonic()
        checks = Tool(suite, log, tool, tests)
        checks.run(now + share * (deadline - now))
        if checks.found["findings"] or checks.found["failed"] or not checks.found["clean"]:
            bad.append(tool)
    if bad:
        raise Trouble(f"not clean: {', '.join(bad)}")


HEAD = ["tool", "tests that are clean", "with findings", "failed", "without time", "seconds"]


def rows(found):
    for tool, it in found.items():
        counts = [len(it[key]) for key in ("clean", "findings", "failed", "left_out")]
        yield [tool, *counts, f"{it['seconds']:.0f}"]


def notes(found):
    for tool, it in found.items():
        for test, finding in it["findings"].items():
            count = "?" if finding["count"] is None else finding["count"]
            yield f"{tool}: FAILED {test}: {count} findings: {'; '.join(finding['first'])}"
        yield from (f"{tool}: FAILED {test}: {why}" for test, why in it["failed"].items())
        if it["left_out"]:
            yield f"{tool}, no time left for: {'; '.join(it['left_out'])}"
