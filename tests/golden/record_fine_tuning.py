#!/usr/bin/env python3
"""Records what PyTorch trains where a part is frozen and another has a learning rate of its own, for
tests/training/golden_fine_tuning_test.cpp.

Usage: record_fine_tuning.py. Writes fine_tuning.json beside itself. Made with Debian's torch 2.14.

In float64, from float32 inputs and parameters, as make_golden.py does; beside it stands how far
PyTorch's own float32 runs are from it.
"""
import json
import pathlib

import torch
from torch.nn import functional as F

from golden_recipe import digest, labels, short
from make_golden import CifarResNet, fill, images_named, rounded_otherwise

HERE = pathlib.Path(__file__).resolve().parent
FROZEN = ["stem", "layer1", "layer3.0.bn1"]
MODULES = ["conv1", "bn1", "layer1", "layer3.0.bn1"]  # what PyTorch calls these
SCALES = {"fc": 10, "layer2": 0.5}
STEPS = 10
CASES = [("sgd", torch.optim.SGD, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}),
         ("adamw", torch.optim.AdamW, {"lr": 1e-3, "betas": (0.9, 0.999), "weight_decay": 0.05})]


def is_in(name, module):
    return name.startswith(module + ".")


def groups(model, lr):
    """A parameter group for each learning rate; what is frozen is in none."""
    for name, p in model.named_parameters():
        p.requires_grad_(not any(is_in(name, module) for module in MODULES))
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    factor = {name: next((s for m, s in SCALES.items() if is_in(name, m)), 1) for name, _ in trained}
    return [{"params": [p for name, p in trained if factor[name] == f], "lr": lr * f}
            for f in sorted(set(factor.values()))]


def train(model, images, targets, kind, arguments):
    fill(model)
    model.train()
    optimizer = kind(groups(model, arguments["lr"]), **arguments)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(short(loss.item()))
    return losses


def record(name, kind, arguments, images, targets):
    model = CifarResNet(3, 10)
    runs = [train(model.float(), rounded, targets, kind, arguments)
            for rounded in rounded_otherwise(images)]
    losses = train(model.double(), images.double(), targets, kind, arguments)
    tensors = dict(model.named_parameters()) | {n: b for n, b in model.named_buffers()
                                                if not n.endswith("num_batches_tracked")}
    return {"name": name, "arguments": arguments, "losses": losses,
            "pytorch_f32_error": short(max(abs(a - b) for own in runs for a, b in zip(own, losses))),
            "tensors": {n: digest(t.detach()) for n, t in tensors.items()}}


def main():
    known = json.loads((HERE / "resnet20.json").read_text())
    images = images_named(known["images"], known["image_size"], known["batch"])
    targets = torch.from_numpy(labels(known["batch"], known["classes"]))
    result = {"images": known["images"], "image_size": known["image_size"], "batch": known["batch"],
              "freeze": FROZEN, "lr_scale": SCALES,
              "runs": [record(*case, images, targets) for case in CASES]}
    text = json.dumps(result, separators=(",", ":"))
    (HERE / "fine_tuning.json").write_text(text.replace('},"', '},\n"') + "\n")
    for run in result["runs"]:
        print(run["name"], run["losses"], run["pytorch_f32_error"])


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
