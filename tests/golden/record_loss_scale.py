#!/usr/bin/env python3
"""Records loss_scale.json: 200 steps of torch.amp.GradScaler with gradients that are not always
finite, for tests/devices/loss_scale_golden_test.cpp.

Usage: record_loss_scale.py > loss_scale.json    (torch; made with 2.14, on the CPU, in float32)

Of every step: the scale and the growth tracker after it, whether the optimizer was skipped, and the
parameters. The gradient of step i is golden_recipe's uniform("gradient{i}") times the scale; where
`planted` says so, an element is inf, -inf or nan.
"""
import json
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_recipe import short, uniform

STEPS, ELEMENTS = 200, 8
PLANTED = {0: [[0, "inf"]], 17: [[7, "nan"]], 18: [[3, "-inf"]], 60: [[1, "nan"], [2, "inf"]],
           61: [[4, "inf"], [5, "-inf"]], 150: [[6, "nan"]]}

CASES = [
    {"name": "sgd", "arguments": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01},
     "scaler": {"init_scale": 1024.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                "growth_interval": 7}},
    # Factors that are no powers of two show where the scale is rounded.
    {"name": "adam", "arguments": {"lr": 0.01, "weight_decay": 0.01},
     "scaler": {"init_scale": 65536.0, "growth_factor": 2.5, "backoff_factor": 0.3,
                "growth_interval": 5}},
    # Begins so high that it comes to where one more growth would be infinite.
    {"name": "sgd", "arguments": {"lr": 0.05, "momentum": 0.9}, "clip_value": 0.5,
     "clip_norm": 1.0,
     "scaler": {"init_scale": 2.0**120, "growth_factor": 2.0, "backoff_factor": 0.5,
                "growth_interval": 3}},
    {"name": "adam", "arguments": {"lr": 0.01}, "clip_value": 0.25,
     "scaler": {"init_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                "growth_interval": 11}},
]


def record(case):
    p = torch.from_numpy(uniform("parameter", (ELEMENTS,))).requires_grad_()
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[case["name"]](
        [p], **case["arguments"])
    scaler = torch.amp.GradScaler("cpu", **case["scaler"])
    scaler.scale(torch.zeros(1))  # makes its state
    steps = {"scales": [], "trackers": [], "skipped": [], "parameters": []}
    for step in range(STEPS):
        gradient = uniform(f"gradient{step}", (ELEMENTS,)) * np.float32(scaler.get_scale())
        for place, value in PLANTED.get(step, []):
            gradient[place] = float(value)
        p.grad = torch.from_numpy(gradient)
        before = p.detach().clone()
        scaler.unscale_(optimizer)
        if "clip_value" in case:
            torch.nn.utils.clip_grad_value_([p], case["clip_value"])
        if "clip_norm" in case:
            torch.nn.utils.clip_grad_norm_([p], case["clip_norm"])
        scaler.step(optimizer)
        scaler.update()
        steps["scales"].append(scaler.get_scale())
        steps["trackers"].append(scaler._get_growth_tracker())
        steps["skipped"].append(bool(torch.equal(before, p.detach())))
        steps["parameters"].append([short(v) for v in p.detach()])
    return case | {"planted": PLANTED} | steps


if __name__ == "__main__":
    text = json.dumps([record(case) for case in CASES], separators=(",", ":"))
    print(text.replace(',"scales"', ',\n"scales"').replace("},{", "},\n{"))
