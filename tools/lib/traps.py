"""Ends, holds or stops another process at the entry of a function, by overwriting the function's first bytes.

Needs Linux on x86-64, and root. The process is not traced, so it runs at full speed until it enters the function. A function
that was inlined everywhere has no entry: callers that wait for it need a time limit.
"""
import os
import pathlib
import re
import signal
import subprocess
import time

TRAP = b"\xcc"  # int3: SIGTRAP ends the process at once, in any state of its other threads
SPIN = b"\xeb\xfe"  # a jump to itself: the thread spins, the others continue


class NoSuchFunction(Exception):
    pass


ANONYMOUS = "(anonymous namespace)"
LINKER_NAMES = {ANONYMOUS: "_GLOBAL__N_1"}


def part(name):
    name = LINKER_NAMES.get(name, name)
    return "D[0-2]" if name.startswith("~") else f"{len(name)}{name}"


def parts(names):
    return "".join(map(part, names))


def mangled(function):
    """A pattern of a function's linker name, for any parameters."""
    return f"_ZNK?{parts(function.split('::'))}(B5cxx11)?E"


def enqueued_by(method):
    """The same for the work that a device's method enqueues on a stream, which runs later."""
    return f"_ZNSt17_Function_handler.*{parts(method.split('::')[-2:])}E.*9_M_invokeERKSt9_Any_data$"


def pattern(function):
    """"work of F" stands for the work that F enqueues; other texts for the function itself."""
    method = function.removeprefix("work of ")
    return re.compile(mangled(function) if method == function else enqueued_by(method))


class Program:
    """An executable with symbols."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        listed = subprocess.run(["nm", "--defined-only", self.path], check=True, capture_output=True, text=True)
        lines = (line.split(" ") for line in listed.stdout.splitlines())
        self.functions = {name: int(address, 16) for address, kind, name in lines if kind in "tTwW"}

    def addresses(self, functions):
        """All entries of the functions: the compiler may have cloned one, and overloads share a name."""
        wanted = [pattern(function) for function in functions]
        found = {at for name, at in self.functions.items() if ".cold" not in name and any(one.match(name) for one in wanted)}
        if not found:
            raise NoSuchFunction(f"{self.path.name} has no function {' or '.join(functions)}, or it was inlined everywhere")
        return found


class Code:
    """The code of a running process of the program."""

    def __init__(self, program, pid):
        self.program = program
        self.pid = pid
        self.base = self.find_base()
        self.held = {}  # address -> original bytes

    def find_base(self):
        for line in pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            place, _, offset, *_, path = line.split()
            if path == str(self.program.path) and int(offset, 16) == 0:
                return int(place.split("-")[0], 16)
        raise ProcessLookupError(f"process {self.pid} does not run {self.program.path}")

    def addresses(self, functions):
        return [self.base + at for at in self.program.addresses(functions)]

    def write(self, address, code):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            before = memory.read(len(code))
            memory.seek(address)
            memory.write(code)
        return before

    def end_at(self, *functions):
        """Ends the process when the first thread enters one of the functions."""
        for address in self.addresses(functions):
            self.write(address, TRAP)

    def hold_at(self, *functions):
        """Holds threads that enter one of the functions until release()."""
        addresses = self.addresses(functions)
        with Stopped(self.pid):
            self.held = {address: self.write(address, SPIN) for address in addresses}

    def is_holding(self):
        with Stopped(self.pid):
            return any(place in self.held for place in places(self.pid))

    def stop(self):
        """Stops all threads of a held process. release() lets them continue."""
        os.kill(self.pid, signal.SIGSTOP)

    def release(self):
        with Stopped(self.pid):
            for address, code in self.held.items():
                self.write(address, code)
        self.held = {}


class Stopped:
    """Stops the process meanwhile, so that it never executes partly written code."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        while any(state not in "TtZX" for state in states(self.pid)):
            time.sleep(0.0005)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def of_threads(pid, name):
    """Yields the content of a file of each thread; skips threads that have ended."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            yield (task / name).read_text()
        except (FileNotFoundError, ProcessLookupError):
            pass


def states(pid):
    return [stat.rpartition(") ")[2][0] for stat in of_threads(pid, "stat")]


def places(pid):
    """The next instruction of each thread of a stopped process."""
    return [int(line.split()[-1], 16) for line in of_threads(pid, "syscall") if " " in line]
