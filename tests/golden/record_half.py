#!/usr/bin/env python3
"""Records what PyTorch computes in f16 and bf16, for tests/nn/golden_half_test.cpp and
tests/nn/golden_model_test.cpp.

Usage: record_half.py. Writes half.json beside itself. Made with Debian's torch 2.14.

Optimizers are the fused ones: they compute in f32 and round what they store. (The foreach ones round
every operation's result.)
"""
import json
import pathlib

import torch
from torch.nn import functional as F

from golden_recipe import digest, labels, short, uniform
from make_golden import OPTIMIZER, CifarResNet, distance, fill, gradients, images_named
from precision_modes import HALVES, PrecisionMode

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
STEPS = 10


def tensor(name, shape, dtype=torch.float32):
    return torch.from_numpy(uniform(name, shape)).to(dtype)


def numbers(values):
    return [short(v) for v in values.detach().double().reshape(-1)]


def record_optimizer(dtype, kind, arguments):
    """Parameters after each step; gradients shrink until f16 holds little of their squares."""
    p = tensor("parameter", (32,), TYPES[dtype]).requires_grad_()
    optimizer = kind([p], fused=True, **arguments)
    steps = []
    for step in range(STEPS):
        p.grad = (tensor(f"gradient{step}", (32,)) * 4.0**-step).to(TYPES[dtype])
        optimizer.step()
        steps.append(numbers(p))
    return {"name": kind.__name__.lower(), "type": dtype, "arguments": arguments,
            "parameters": steps}


def optimizers():
    sgd, adamw = torch.optim.SGD, torch.optim.AdamW
    cases = [(sgd, {"lr": 0.05}), (sgd, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
             (sgd, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
             (adamw, {"lr": 0.05, "weight_decay": 0.1})]
    return [record_optimizer(dtype, kind, arguments) for dtype in TYPES for kind, arguments in cases]


class Perceptron(torch.nn.Module):
    """What nn/models/mlp makes of one hidden layer."""

    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(inputs, hidden)])
        self.fc = torch.nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(F.relu(self.layers[0](x)))


def record_perceptron(dtype, kind, arguments):
    """Ten losses, in f32 of logits of the type, and the parameters after them."""
    model = Perceptron(48, 32, 10)
    fill(model)
    model.to(TYPES[dtype])
    images = tensor("images", (16, 48), TYPES[dtype])
    targets = torch.from_numpy(labels(16, 10))
    optimizer = kind(model.parameters(), fused=True, **arguments)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images).float(), targets)
        loss.backward()
        optimizer.step()
        losses.append(short(loss.item()))
    return {"name": kind.__name__.lower(), "type": dtype, "arguments": arguments, "losses": losses,
            "parameters": {name: digest(p.detach().float())["samples"]
                           for name, p in model.named_parameters()}}


def perceptrons():
    cases = [(torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
             # f16 holds no squares of small gradients: without a large eps, chance divides.
             (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1, "eps": 1e-3})]
    return [record_perceptron(dtype, kind, arguments) for dtype in TYPES
            for kind, arguments in cases]


class Mode(PrecisionMode):
    """How one precision.mode trains a model."""

    def prepare(self, model):
        fill(model.float())
        return model.to(self.stored).train()

    def logits(self, model, images):
        with self.autocast():
            return model(images.to(self.stored)).float()

    def step(self, model, images, targets):
        logits = self.logits(model, images)
        loss = F.cross_entropy(logits, targets)
        self.backward(loss, model)
        return logits.detach().double(), loss.item()


def record_model(mode, model, images, targets, golden):
    """How far PyTorch's own run is from float64's, which make_golden.py recorded."""
    mode = Mode(mode)
    model = mode.prepare(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=golden["optimizer"]["lr"], fused=True,
                                **OPTIMIZER)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        logits, loss = mode.step(model, images, targets)
        losses.append(loss)
        if step == 0:
            errors = {"logits": distance(logits.reshape(-1), torch.tensor(golden["logits"]).double()),
                      "gradients": distance(gradients(model), truth_gradients(images, targets))}
        optimizer.step()
    model.eval()
    evaluation = mode.logits(model, images).detach().double().reshape(-1)
    truth = torch.tensor(golden["evaluation_logits"]).double()
    return errors | {"losses": short(max(abs(a - b) for a, b in zip(losses, golden["losses"]))),
                     "evaluation_logits": distance(evaluation, truth),
                     "own_losses": [short(v) for v in losses]}


def truth_gradients(images, targets):
    model = CifarResNet(3, 10)
    fill(model)
    model.double().train()
    F.cross_entropy(model(images.double()), targets).backward()
    return gradients(model)


def resnet20():
    golden = json.loads((HERE / "resnet20.json").read_text())
    size, batch = golden["image_size"], golden["batch"]
    images = images_named(golden["images"], size, batch)
    targets = torch.from_numpy(labels(batch, golden["classes"]))
    # oneDNN has f16's backward as loops that take minutes.
    with torch.backends.mkldnn.flags(enabled=False):
        return {mode: record_model(mode, CifarResNet(3, 10), images, targets, golden)
                for mode in HALVES}


def main():
    torch.manual_seed(0)
    value = {}
    for part in (optimizers, perceptrons, resnet20):
        value[part.__name__] = part()
    text = json.dumps(value, separators=(",", ":")).replace('},"', '},\n"').replace('},{', '},\n{')
    (HERE / "half.json").write_text(text + "\n")
    print(json.dumps(value["resnet20"], indent=1))


if __name__ == "__main__":
    main()
