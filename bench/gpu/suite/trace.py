"""The part `trace`: where a step's time goes, kernel by kernel, ours and PyTorch's, into trace.txt; and
how long the device ran none of ours."""

import time

from suite import programs
from suite.programs import Trouble
from suite.rows import AMP, TRACE


def plan(suite):
    ours = [suite.program("bench_gpu_train_step"), *AMP.options, "--seconds", "1", "--trace"]
    script = suite.root / "bench/peers/gpu_train_step.py"
    peer = [*suite.python, script, *AMP.options, "--seconds", "1", "--variant", "fused", "--profile"]
    return ours, peer


def run_part(suite, log, deadline):
    troubles = []
    for who, command in zip(("ours", "PyTorch"), plan(suite)):
        suite.say(f"trace: {who}")
        try:
            result = programs.run_for_object(command, max(1.0, deadline - time.monotonic()), log)
            if who == "ours":
                suite.report.row("trace", TRACE)["summary"] = result
                suite.report.save()
        except Trouble as trouble:
            troubles.append(f"{who}: {trouble}")
    if troubles:
        raise Trouble("; ".join(troubles))
