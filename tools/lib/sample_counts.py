"""A linear model whose weights count how often each sample was applied, for any number of nodes and any strategy.

Sample i is 1 in feature i: it moves only the weights of feature i, by a small part of their distance to its targets. So
after k applications a weight lacks (1 - PART)^k of its target. The part is so small that counts do not depend on the version of
the parameters that a gradient was computed with (async), nor on a worker that moves its own copy by more before all copies are
averaged (local_sgd, diloco): both effects are of the order of PART^2.
"""
import array
import json
import math
import struct

import chaos_job

PART = 0.002
TARGETS = (1, 2, 3)  # of the columns written by chaos_job.write_samples
SETTINGS = {
    **chaos_job.COMMON,
    **chaos_job.SAMPLES_COUNT,
    "train.epochs": 10**6,
    "train.max_steps": 10**9,
    "train.evaluate_every": 0,
    "train.optimizer.momentum": 0,
    "train.optimizer.lr": PART * chaos_job.SLICES * len(TARGETS) / 2,
    # Makes their rounds plain averaging: a sample's change counts once.
    "parallel.local_sgd.steps": 8,
    "parallel.diloco.steps": 8,
    "parallel.diloco.lr": 1,
    "parallel.diloco.momentum": {"value": 0, "nesterov": False},
}
CLEAR = 0.25  # maximum distance of a count from a whole number


def write_zeros(path):
    """Writes the initial weights."""
    values = bytes(4 * len(TARGETS) * chaos_job.SAMPLES)
    entry = {"dtype": "F32", "shape": [len(TARGETS), chaos_job.SAMPLES], "data_offsets": [0, len(values)]}
    header = json.dumps({"fc.weight": entry}).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + values)


def counts(state):
    """How often each sample was applied, by target and sample, from a checkpoint's tensors (checkpoint_files.read)."""
    weights = array.array("f")
    weights.frombytes(state["fc.weight"])
    columns = [weights[row * chaos_job.SAMPLES : (row + 1) * chaos_job.SAMPLES] for row in range(len(TARGETS))]
    return [[count(weight / target) for weight in column] for target, column in zip(TARGETS, columns)]


def count(reached):
    return math.log(1 - reached) / math.log(1 - PART) if reached < 1 else math.inf


def problems(state):
    """Checks that each sample was applied once an epoch, and the samples of the unfinished epoch once more. Returns problems, one a line."""
    steps = state["step"]
    epochs, more = divmod(steps * chaos_job.SLICES, chaos_job.SAMPLES)
    found = []
    for target, column in zip(TARGETS, counts(state)):
        off = [(i, value) for i, value in enumerate(column) if min(abs(value - epochs), abs(value - epochs - 1)) > CLEAR]
        if off:
            shown = ", ".join(f"sample {i}: {value:.2f}" for i, value in off[:5])
            found.append(f"target {target}: after {steps} steps each sample counts {epochs} or {epochs + 1}, but {len(off)} do not: {shown}")
            continue
        last = sum(value > epochs + 0.5 for value in column)
        if last != more:
            found.append(f"target {target}: {last} samples count {epochs + 1} after {steps} steps, not {more}")
    return found[:1]
