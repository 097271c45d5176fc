"""The part `trace`: where a step's time goes. Node by node beside the roofline, by events, into the report;
kernel by kernel, ours and PyTorch's, by CUPTI, into trace.txt; and how long the device ran none of ours.
"""

import time

from suite import cudnn, machine, programs, roofline
from suite.programs import Trouble
from suite.rows import AMP, TRACE

WHAT = "each node of a step beside the roofline; time per kernel, ours and PyTorch's"
NEEDS = ("CUPTI", "PyTorch")


def plan(suite):
    ours = suite.our_step(AMP, 1)
    peer = [*suite.peer_step(AMP, 1), "--variant", "fused", "--profile"]
    return [*ours, "--profile"], [*ours, "--trace"], peer


def keep_nodes(report, result):
    found = roofline.keep(report, AMP, result)
    if "share" in found:
        report.row("trace", TRACE).setdefault("summary", {})["share_of_bound"] = found["share"]


def keep_kernels(report, result):
    report.row("trace", TRACE).setdefault("summary", {}).update(result)


def run_part(suite, log, deadline):
    """What it has skipped, if anything."""
    cudnn.check(suite)
    troubles, skipped = [], None
    keeps = (("nodes", keep_nodes), ("kernels", keep_kernels), ("PyTorch", None))
    for (what, keep), command in zip(keeps, plan(suite)):
        if what == "kernels" and machine.is_emulated(suite):
            skipped = "kernels: skipped, CUPTI sees none on an emulated device"
            continue
        suite.say(f"trace: {what}")
        try:
            result = programs.run_for_object(command, max(1.0, deadline - time.monotonic()), log)
            if keep:
                keep(suite.report, result)
        except Trouble as trouble:
            troubles.append(f"{what}: {trouble}")
        suite.report.save()
    if troubles:
        raise Trouble("; ".join(troubles))
    return skipped
