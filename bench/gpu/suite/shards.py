"""Programs of which some run at a time, so that a crash or a hang costs one of them."""

import signal
import time

from suite.programs import OutOfTime


def run_some(waiting, jobs, deadline, keep):
    """Starts each of `waiting`, functions that return a shard: it has `program`, `until` and is_done(). Calls
    keep(shard, cut) at its end. What is still in `waiting` afterwards has had no time.
    """
    running = []
    try:
        while (waiting or running) and time.monotonic() < deadline:
            while waiting and len(running) < jobs:
                running.append(waiting.pop(0)())
            for shard in [shard for shard in running if shard.is_done()]:
                running.remove(shard)
                keep(shard, False)
                shard.program.end()
            for shard in [shard for shard in running if time.monotonic() > shard.until]:
                running.remove(shard)
                cut([shard], keep)
            time.sleep(0.02)
    finally:
        cut(running, keep)


def read_on(program, reading):
    """Whether the program has ended; what it has said until now goes to the reading."""
    lines = program.lines_now()
    for line in lines:
        if line is not None:
            reading.line(line)
    return None in lines


def why_it_ended(program):
    """None, or a line; of a program that has closed its output."""
    try:
        return program.why_it_ended(time.monotonic() + 5)
    except OutOfTime as late:
        return str(late)


def cut(running, keep):
    for shard in running:
        shard.program.signal(signal.SIGTERM)  # at which Catch2 says which test it was
    for shard in running:
        shard.program.end()
        time.sleep(0.1)
        shard.is_done()
        keep(shard, True)
