"""The part `trace`: where a step's time goes, kernel by kernel, ours and PyTorch's, into trace.txt."""

import time

from suite import programs
from suite.programs import Trouble
from suite.rows import AMP


def plan(suite):
    ours = [suite.program("bench_gpu_train_step"), *AMP.options, "--seconds", "1", "--profile"]
    script = suite.root / "bench/peers/gpu_train_step.py"
    peer = [*suite.python, script, *AMP.options, "--seconds", "1", "--variant", "fused", "--profile"]
    return ours, peer


def run_part(suite, log, deadline):
    troubles = []
    for who, command in zip(("ours", "PyTorch"), plan(suite)):
        suite.say(f"trace: {who}")
        try:
            programs.run(command, max(1.0, deadline - time.monotonic()), log)
        except Trouble as trouble:
            troubles.append(f"{who}: {trouble}")
    if troubles:
        raise Trouble("; ".join(troubles))
