"""Programs under a time limit: their output goes into a log as it comes, their JSON lines to us."""

import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import threading
import time

# Those of a bundle, besides the tests.
OURS = ("troupe", "bench_gpu_train_step", "bench_gpu_host_waits")
running = []  # programs that have been started and not been ended
GRACE = 8.0  # seconds from SIGTERM, which lets a program say where it was, to SIGKILL


class Trouble(Exception):
    """Why there is no result, in one line."""


class OutOfTime(Trouble):
    """The time limit came first."""


class Skipped(Exception):
    """Why there is nothing to do; no failure."""


@contextlib.contextmanager
def signals_held_back():
    """What would interrupt us is only noted: half-way through a start, nobody could end the program."""
    came = []
    old = {
        number: signal.signal(number, lambda caught, _frame: came.append(caught))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield came
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


class Program:
    """A started program, in a process group of its own. What it says goes into the log, with `prefix` or,
    `clocked`, with the seconds since its start; `hear` is given each line, from other threads.
    """

    def __init__(self, command, log, prefix="", clocked=False, hear=None):
        self.log, self.prefix, self.clocked, self.hear = log, prefix, clocked, hear
        self.begin = time.monotonic()
        self.last = ""  # line that it said
        log.write(f"{prefix}$ {shlex.join(map(str, command))}\n")
        self.readers = []
        with signals_held_back() as came:
            try:
                self.process = subprocess.Popen(
                    [str(word) for word in command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    process_group=0,
                )
                running.append(self)
            except OSError as error:
                log.write(f"{error}\n")
                raise Trouble(f"cannot start {command[0]}: {error.strerror}") from None
        if came:
            self.end()
            raise KeyboardInterrupt
        self.lines = queue.Queue()  # of standard output; None after the last
        for pipe in (self.process.stdout, self.process.stderr):
            reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
            reader.start()
            self.readers.append(reader)

    def _read(self, pipe):
        for line in map(str.rstrip, pipe):
            self.last = line[:200] or self.last
            if self.hear:
                self.hear(line)
            prefix = f"{time.monotonic() - self.begin:8.2f} s  " if self.clocked else self.prefix
            with contextlib.suppress(ValueError):  # a closed log: children that outlive it
                self.log.write(f"{prefix}{line}\n")
            if pipe is self.process.stdout:
                self.lines.put(line)
        if pipe is self.process.stdout:
            self.lines.put(None)

    def line(self, deadline):
        """The next line of standard output, or None after the last. Raises OutOfTime."""
        try:
            return self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise OutOfTime("the time limit came first") from None

    def object(self, deadline):
        """The next JSON object. Raises OutOfTime, or Trouble where the program ends before it."""
        while (line := self.line(deadline)) is not None:
            if found := as_object(line):
                return found
        raise Trouble(self.why_it_ended(deadline) or "ended without a result")

    def lines_now(self):
        """What has come since the last call, without waiting; its last is None once all was read."""
        found = []
        while not self.lines.empty():
            found.append(self.lines.get())
        return found

    def say(self, line):
        with contextlib.suppress(OSError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def why_it_ended(self, deadline):
        """None when all was well; else exit code or signal, and the last line it said."""
        try:
            code = self.process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise OutOfTime("closed its output and went on") from None
        self._finish_reading()
        if code == 0:
            return None
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{how}: {self.last.strip()}" if self.last else how

    def _finish_reading(self):
        for reader in self.readers:
            reader.join(timeout=1)

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self):
        """Ends it and what it started; returns when it is gone."""
        for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 5.0)):
            if self.process.poll() is not None:
                break
            self.signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=patience)
        self.signal(signal.SIGKILL)  # children that outlived it
        self._finish_reading()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        if self in running:
            running.remove(self)


def end_all():
    """Also what an interrupt has left to nobody, between its start and the care of whoever started it."""
    for program in list(running):
        program.end()


def as_object(line):
    if line.startswith("{"):
        with contextlib.suppress(ValueError):
            return json.loads(line)
    return None


def run(command, seconds, log, on_line=None, **heard):
    """Runs it to its end and hands on each line; `heard` as Program's. Raises Trouble unless it exits with 0."""
    deadline = time.monotonic() + seconds
    program = Program(command, log, **heard)
    try:
        program.process.stdin.close()
        while (line := program.line(deadline)) is not None:
            if on_line:
                on_line(line)
        if reason := program.why_it_ended(deadline):
            raise Trouble(reason)
    except OutOfTime:
        raise OutOfTime(f"did not end within {seconds:.0f} s") from None
    finally:
        program.end()


def run_for_object(command, seconds, log, **heard):
    """The last JSON object that it prints; `heard` as Program's. Raises Trouble."""
    found = []

    def keep(line):
        if value := as_object(line):
            found.append(value)

    run(command, seconds, log, keep, **heard)
    if not found:
        raise Trouble("ended without a result")
    return found[-1]
