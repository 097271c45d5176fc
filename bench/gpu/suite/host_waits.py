"""The part `host_waits`: which calls stand still while a stream waits for the host, asked of the driver."""

from suite import machine, programs

WHAT = "which calls of CUDA stand still while a stream waits for the host"
LOG = "doctor"
PROGRAM = "bench_gpu_host_waits"


def plan(suite):
    yield [suite.program(PROGRAM)]


def run_part(suite, log, deadline):
    found = programs.run_for_object([suite.program(PROGRAM)], machine.left(deadline, 60), log)
    suite.report.data["host_waits"] = found
    suite.report.data["machine"]["streams that wait for the host"] = (
        f"continue after {found['goes_on_after_us']:.0f} µs; {found['streams_that_may_wait']} may wait at a time; "
        f"hold up: {', '.join(found['held_up']) or 'no call'}"
    )
