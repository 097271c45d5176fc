"""The part `trace`: where a step's time goes, kernel by kernel, ours and PyTorch's, into trace.txt; and
how long the device ran none of ours. Each node of our step beside its bound goes into roofline.md.
"""

import time

from suite import programs, roofline
from suite.programs import Trouble
from suite.rows import AMP, TRACE


def plan(suite):
    options = [*suite.sized(AMP).options, "--seconds", "1"]
    ours = [suite.program("bench_gpu_train_step"), *options, "--trace", "--profile"]
    script = suite.root / "bench/peers/gpu_train_step.py"
    peer = [*suite.python, script, *options, "--variant", "fused", "--profile"]
    return ours, peer


def keep(report, result):
    nodes = result.pop("profile", [])
    if found := roofline.compare(result.get("device", ""), AMP.precision, nodes, result["ms"]):
        result["share_of_bound"] = found.share
        report.put("roofline.md", "\n".join(found.markdown()) + "\n")
    report.row("trace", TRACE)["summary"] = result
    report.save()


def run_part(suite, log, deadline):
    troubles = []
    for who, command in zip(("ours", "PyTorch"), plan(suite)):
        suite.say(f"trace: {who}")
        try:
            result = programs.run_for_object(command, max(1.0, deadline - time.monotonic()), log)
            if who == "ours":
                keep(suite.report, result)
        except Trouble as trouble:
            troubles.append(f"{who}: {trouble}")
    if troubles:
        raise Trouble("; ".join(troubles))
