#!/usr/bin/env python3
"""Records what PyTorch computes, for tests/nn/golden_*_test.cpp.

Usage: make_golden.py [models] [ops] [optimizers] [schedules]     (default: all)
Writes JSON files beside itself. Made with Debian's torch 2.14 and torchvision 0.27.

Models and ops run in float64, from float32 inputs and parameters: the truth that every precision is
compared with. Beside it stands how far PyTorch's own bfloat16 autocast is from it.
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from golden_recipe import digest, labels, parameter, short, uniform

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZER = dict(momentum=0.9, weight_decay=5e-4)


class Shortcut(nn.Module):
    """Option A of He et al.: every other pixel, zero channels on both sides."""

    def __init__(self, stride, missing):
        super().__init__()
        self.stride, self.missing = stride, missing

    def forward(self, x):
        half = self.missing // 2
        return F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, half, self.missing - half))


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = Shortcut(stride, width - inputs) if stride != 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class CifarResNet(nn.Module):
    def __init__(self, n, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        inputs = 16
        for stage, width in enumerate((16, 32, 64)):
            blocks = []
            for i in range(n):
                blocks.append(Block(inputs, width, 2 if stage > 0 and i == 0 else 1))
                inputs = width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def fill(model):
    state = {name: torch.from_numpy(parameter(name, tuple(p.shape)))
             for name, p in model.named_parameters()}
    model.load_state_dict(state, strict=False)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()


def gradients(model):
    return torch.cat([p.grad.double().reshape(-1) for p in model.parameters()])


def first_step(model, images, targets, autocast):
    fill(model)
    model.train().zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        logits = model(images)
    loss = F.cross_entropy(logits.to(images.dtype), targets)
    loss.backward()
    return logits.detach().double(), loss.item(), gradients(model)


def distance(value, truth):
    return short((torch.linalg.norm(value - truth) / torch.linalg.norm(truth)).item())


def statistics(model):
    return {name: digest(value) for name, value in model.named_buffers()
            if not name.endswith("num_batches_tracked")}


def relu_margin(model, images):
    """How near to zero any input of a relu comes, by the root mean square of its tensor."""
    margins = []
    relu = F.relu

    def measured(x, inplace=False):
        margins.append((x.abs().min() / x.square().mean().sqrt()).item())
        return relu(x, inplace)

    F.relu = measured
    fill(model)
    with torch.no_grad():
        model.train()(images)
    F.relu = relu
    return min(margins)


def images_named(name, size, batch):
    return torch.from_numpy(uniform(name, (batch, size, size, 3)).transpose(0, 3, 1, 2).copy())


def choose_images(model, size, batch, margin):
    """Images whose gradients rounding cannot change by a relu that it opens or closes: one value in
    several 100,000 is enough to change them by a hundredth."""
    for name in ["images"] + [f"images{attempt}" for attempt in range(1, 1000)]:
        if relu_margin(model.double(), images_named(name, size, batch).double()) >= margin:
            return name
    sys.exit(f"make_golden: no images with a margin of {margin}")


def record_model(name, model, size, batch, classes, lr, margin=0):
    images_name = choose_images(model, size, batch, margin)
    images = images_named(images_name, size, batch)
    targets = torch.from_numpy(labels(batch, classes))
    bf16_logits, _, bf16_gradients = first_step(model.float(), images, targets, True)
    f32_logits, _, f32_gradients = first_step(model, images, targets, False)

    images, model = images.double(), model.double()
    logits, loss, gradient = first_step(model, images, targets, False)
    result = {
        "model": name, "images": images_name, "image_size": size, "batch": batch,
        "classes": classes, "loss": short(loss),
        "correct": int((logits.argmax(1) == targets).sum()),
        "logits": [short(v) for v in logits.reshape(-1)],
        "gradients": {n: digest(p.grad) for n, p in model.named_parameters()},
        "statistics": statistics(model),
        # |x - truth| / |truth| of PyTorch's own runs, in the 2-norm over everything.
        "pytorch_f32_error": {"logits": distance(f32_logits, logits),
                              "gradients": distance(f32_gradients, gradient)},
        "pytorch_bf16_error": {"logits": distance(bf16_logits, logits),
                               "gradients": distance(bf16_gradients, gradient)},
        "optimizer": {"lr": lr} | OPTIMIZER,
    }
    losses, result["evaluation_logits"] = train(model, images, targets, lr, False)
    result["losses"] = losses
    for key, autocast in (("pytorch_f32_error", False), ("pytorch_bf16_error", True)):
        inputs = [images.float()] if autocast else rounded_otherwise(images.float())
        runs = [train(model.float(), rounded, targets, lr, autocast)[0] for rounded in inputs]
        result[key]["losses"] = short(max(abs(a - b) for own in runs for a, b in zip(own, losses)))
    write(f"{name}.json", result)
    print(name, result["pytorch_f32_error"], result["pytorch_bf16_error"], losses)


def rounded_otherwise(images):
    """In ten steps some relu's input comes near to zero, and which way it goes is chance."""
    return [images * (1 + k * 2.0**-22) for k in (0, 1, -1, 2, -2, 3, -3)]


def train(model, images, targets, lr, autocast):
    """Ten losses, and the logits of an evaluation after them."""
    fill(model)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, **OPTIMIZER)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(images)
        loss = F.cross_entropy(logits.to(images.dtype), targets)
        loss.backward()
        optimizer.step()
        losses.append(short(loss.item()))
    model.eval()
    return losses, [short(v) for v in model(images).detach().reshape(-1)]


def models():
    record_model("resnet20", CifarResNet(3, 10), 32, 4, 10, 0.02, 5e-6)
    record_model("resnet50", torchvision.models.resnet50(num_classes=10), 64, 4, 10, 0.002)


def nhwc(x):
    return [short(v) for v in x.detach().permute(0, 2, 3, 1).reshape(-1)]


def image(name, n, h, w, c):
    x = torch.from_numpy(uniform(name, (n, h, w, c)).transpose(0, 3, 1, 2).copy()).double()
    return x.requires_grad_()


def record_image_op(shape, function, weights=None):
    """y and the gradients of sum(y * dy), with dy = uniform("dy")."""
    x = image("x", *shape)
    weights = {n: torch.from_numpy(parameter(n, s)).double().requires_grad_()
               for n, s in (weights or {}).items()}
    y = function(x, *weights.values())
    dy = image("dy", y.shape[0], y.shape[2], y.shape[3], y.shape[1]).detach()
    (y * dy).sum().backward()
    return {"x_shape": list(shape), "y_shape": [y.shape[0], y.shape[2], y.shape[3], y.shape[1]],
            "y": nhwc(y), "dx": nhwc(x.grad),
            "dweights": {n: [short(v) for v in w.grad.reshape(-1)] for n, w in weights.items()}}


def record_conv(kernel, stride, padding):
    result = record_image_op((2, 7, 6, 3), lambda x, w: F.conv2d(x, w, None, stride, padding),
                             {"weight": (4, 3, kernel, kernel)})
    return result | {"kernel": kernel, "stride": stride, "padding": padding}


def record_pool(kind, kernel, stride, padding):
    def pool(x):
        if kind == "max_pool":
            return F.max_pool2d(x, kernel, stride, padding)
        return F.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)
    return record_image_op((2, 7, 6, 3), pool) | {
        "kind": kind, "kernel": list(kernel), "stride": stride, "padding": padding}


def record_batch_norm():
    mean, variance = torch.zeros(3).double(), torch.ones(3).double()
    result = record_image_op(
        (2, 4, 3, 3), lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training=True),
        {"bn.weight": (3,), "bn.bias": (3,)})
    return result | {"running_mean": [short(v) for v in mean],
                     "running_var": [short(v) for v in variance]}


def record_gelu(approximate):
    """Six times the usual x: both tails. y and the gradient of sum(y * dy)."""
    x = torch.from_numpy(uniform("x", (40,)) * np.float32(6)).double().requires_grad_()
    y = F.gelu(x, approximate=approximate)
    (y * torch.from_numpy(uniform("dy", (40,))).double()).sum().backward()
    return {"tanh": approximate == "tanh", "y": [short(v) for v in y],
            "dx": [short(v) for v in x.grad]}


def record_layer_norm():
    """Rows of 7: y, and the gradients of sum(y * dy)."""
    x = torch.from_numpy(uniform("x", (2, 3, 7))).double().requires_grad_()
    w, b = (torch.from_numpy(parameter(n, (7,))).double().requires_grad_()
            for n in ("ln.weight", "ln.bias"))
    y = F.layer_norm(x, (7,), w, b, eps=1e-3)
    (y * torch.from_numpy(uniform("dy", (2, 3, 7))).double()).sum().backward()
    return {"eps": 1e-3} | {name: [short(v) for v in values.reshape(-1)] for name, values in
                            (("y", y), ("dx", x.grad), ("dscale", w.grad), ("dshift", b.grad))}


def record_loss(smoothing, targets):
    x = torch.from_numpy(uniform("logits", (6, 5)) * np.float32(4)).double().requires_grad_()
    loss = F.cross_entropy(x, torch.tensor(targets), ignore_index=-100, label_smoothing=smoothing)
    loss.backward()
    return {"smoothing": smoothing, "labels": targets, "loss": short(loss.item()),
            "dlogits": [short(v) for v in x.grad.reshape(-1)]}


def record_squared_error():
    x = torch.from_numpy(uniform("logits", (6, 5)) * np.float32(4)).double().requires_grad_()
    loss = F.mse_loss(x, torch.from_numpy(uniform("target", (6, 5))).double())
    loss.backward()
    return {"loss": short(loss.item()), "dlogits": [short(v) for v in x.grad.reshape(-1)]}


def ops():
    write("ops.json", {
        "conv2d": [record_conv(3, 1, 1), record_conv(3, 2, 1), record_conv(1, 2, 0),
                   record_conv(7, 2, 3)],
        "pool": [record_pool("max_pool", (3, 3), 2, 1), record_pool("max_pool", (2, 2), 2, 0),
                 record_pool("avg_pool", (3, 3), 2, 1), record_pool("avg_pool", (7, 6), 1, 0)],
        "batch_norm": record_batch_norm(),
        "gelu": [record_gelu("none"), record_gelu("tanh")],
        "layer_norm": record_layer_norm(),
        "cross_entropy": [record_loss(s, t) for s in (0.0, 0.1)
                          for t in ([0, 1, 2, 3, 4, 0], [4, -100, 2, 3, -100, 1])],
        "mean_squared_error": record_squared_error(),
    })


def optimizers():
    cases = [("sgd", torch.optim.SGD, {}),
             ("sgd", torch.optim.SGD, {"momentum": 0.9}),
             ("sgd", torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
             ("sgd", torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
             ("adam", torch.optim.Adam, {}),
             ("adam", torch.optim.Adam, {"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}),
             ("adamw", torch.optim.AdamW, {"weight_decay": 0.1}),
             ("adamw", torch.optim.AdamW, {"weight_decay": 0.0, "betas": (0.7, 0.9)})]
    result = []
    for name, kind, arguments in cases:
        p = torch.from_numpy(uniform("parameter", (8,))).double().requires_grad_()
        optimizer = kind([p], lr=0.05, **arguments)
        steps = []
        for step in range(10):
            p.grad = torch.from_numpy(uniform(f"gradient{step}", (8,))).double()
            optimizer.step()
            steps.append([short(v) for v in p.detach()])
        result.append({"name": name, "lr": 0.05, "arguments": arguments, "parameters": steps})
    write("optimizers.json", result)


def rates(make, steps):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.4)
    schedule = make(optimizer)
    result = []
    for _ in range(steps):
        result.append(short(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        schedule.step()
    return result


def schedules():
    from torch.optim import lr_scheduler as s

    def warm(after, warmup):
        return lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 1 / warmup, 1.0, warmup - 1), after(o)], [warmup])

    # 5 steps an epoch, 6 epochs.
    write("schedules.json", {"lr": 0.4, "steps_per_epoch": 5, "total_steps": 30, "cases": [
        {"name": "constant", "warmup": 0, "rates": rates(lambda o: s.ConstantLR(o, 1.0), 30)},
        {"name": "constant", "warmup": 2,
         "rates": rates(warm(lambda o: s.ConstantLR(o, 1.0), 10), 30)},
        {"name": "step", "warmup": 0, "milestones": [2, 4], "gamma": 0.1,
         "rates": rates(lambda o: s.MultiStepLR(o, [10, 20], 0.1), 30)},
        {"name": "cosine", "warmup": 0, "min_lr": 0.0,
         "rates": rates(lambda o: s.CosineAnnealingLR(o, 30), 30)},
        {"name": "cosine", "warmup": 1, "min_lr": 0.01,
         "rates": rates(warm(lambda o: s.CosineAnnealingLR(o, 25, 0.01), 5), 30)},
    ]})


def write(name, value):
    text = json.dumps(value, separators=(",", ":"))
    (HERE / name).write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    torch.manual_seed(0)
    parts = {"models": models, "ops": ops, "optimizers": optimizers, "schedules": schedules}
    for wanted in sys.argv[1:] or parts:
        parts[wanted]()
