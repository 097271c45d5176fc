#!/usr/bin/env python3
"""Records autocast.json: the types in which PyTorch's autocast runs ops, for
tests/nn/autocast_golden_test.cpp.

Usage: record_autocast.py > autocast.json    (torch and torchvision; made with 2.14 and 0.27)

"rules" has, for each device, the type of every function's result when its inputs are f32, when they
have the lower precision, and (for two inputs) when there is one of each. "runs" has the forward ops
of whole models in their order, and the types of the gradients of what modules with parameters give.
On the CPU tensors are real. CUDA's are fake, without values: autocast treats them as a device's, so
that no device is needed. Autograd would ask for one, so gradients are the CPU's alone.
"""
import contextlib
import json
import sys

import torch
import torchvision
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torchvision.models.resnet import Bottleneck

LOWER = {"cpu": torch.bfloat16, "cuda": torch.float16}
TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}

# What ATen runs, by the names of core/graph/ops.def; linear is our matmul and bias. log_softmax is the
# first half of cross_entropy, which asks for it in its input's type: on CUDA it is f16 for this
# reason, although cross_entropy is on the documented f32 list.
OPS = {
    "convolution": "conv2d",
    "native_batch_norm": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "relu": "relu",
    "add": "add",
    "max_pool2d_with_indices": "max_pool",
    "mean": "avg_pool",
    "_adaptive_avg_pool2d": "avg_pool",
    "addmm": "linear",
    "_log_softmax": "log_softmax",
    "nll_loss_forward": "softmax_cross_entropy",
}
# They compute nothing.
SILENT = {"_to_copy", "t", "view", "detach", "device", "empty"}


@contextlib.contextmanager
def autocast(device, enabled=True):
    """torch.autocast, which would refuse CUDA where there is none."""
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, enabled)
    torch.set_autocast_dtype(device, LOWER[device])
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(device, before[0])
        torch.set_autocast_dtype(device, before[1])


class Tensors:
    """Makes tensors of a device."""

    def __init__(self, device):
        self.device = device
        self.fake = FakeTensorMode() if device == "cuda" else None

    def __call__(self, *shape, dtype=torch.float32):
        if not self.fake:
            return torch.ones(shape, dtype=dtype)
        with self.fake:
            return FakeTensor(self.fake, torch.empty(shape, dtype=dtype, device="meta"),
                              torch.device("cuda:0"))

    def mode(self):
        return self.fake or contextlib.nullcontext()

    def take(self, model):
        """Gives a model parameters of this device. Running statistics have no part in types."""
        for module in model.modules():
            for name, p in list(module._parameters.items()):
                if p is not None:
                    module._parameters[name] = nn.Parameter(self(*p.shape), not self.fake)
            for name in module._buffers:
                module._buffers[name] = None
        return model


class Recorder(TorchDispatchMode):
    """Lists the floating-point ops that run, each with the innermost module when it has parameters."""

    def __init__(self, model):
        super().__init__()
        self.modules, self.ops = [""], []
        for name, module in model.named_modules():
            own = name if list(module.parameters(recurse=False)) else ""
            module.register_forward_pre_hook(lambda *_, own=own: self.modules.append(own))
            module.register_forward_hook(lambda *_: self.modules.__delitem__(-1))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in SILENT:
            first = result[0] if isinstance(result, (tuple, list)) else result
            self.ops.append([self.modules[-1], OPS[name], TYPES[first.dtype]])
        return result


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32 * 32 * 3, 24), nn.Linear(24, 16)])
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.fc(x)


def block_forward(self, x):
    """torchvision's, but the sum is a new tensor: `out += x` cannot have another type than out."""
    out = self.relu(self.bn1(self.conv1(x)))
    out = self.relu(self.bn2(self.conv2(out)))
    out = self.bn3(self.conv3(out))
    return self.relu(out + (self.downsample(x) if self.downsample else x))


def resnet50():
    Bottleneck.forward = block_forward
    model = torchvision.models.resnet50(num_classes=10)
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return model


def switch(module, device, enabled):
    """As PyTorch's documentation has it: off, what comes in is cast to float. On again inside, what
    comes out comes into the region that is off around it."""
    forward = module.forward

    def switched(x):
        with autocast(device, enabled):
            return forward(x).float() if enabled else forward(x.float())

    module.forward = switched


def record_run(device, name, model, off):
    tensors = Tensors(device)
    model = tensors.take(model)
    gradients = {}

    def watch(path, module):
        """Below what `switch` adds: its cast of what comes out is no part of the module."""
        forward = module.forward

        def watched(x):
            y = forward(x)
            y.register_hook(lambda dy: gradients.__setitem__(path, TYPES[dy.dtype]))
            return y

        module.forward = watched

    for path, module in model.named_modules():
        if not tensors.fake and list(module.parameters(recurse=False)):
            watch(path, module)
    for entry in off:
        switch(model.get_submodule(entry.lstrip("-")), device, entry.startswith("-"))
    size = 64 if name == "resnet50" else 32
    images = tensors(4, 3, size, size)
    labels = tensors(4, dtype=torch.long)
    recorder = Recorder(model)
    with tensors.mode(), autocast(device), recorder:
        loss = F.cross_entropy(model(images), labels)
    if not tensors.fake:
        loss.backward()
        assert all(p.grad.dtype == torch.float32 for p in model.parameters())
    return {"device": device, "type": TYPES[LOWER[device]], "model": name, "autocast_off": off,
            "forward": recorder.ops, "gradients": dict(sorted(gradients.items()))}


FUNCTIONS = {
    "conv2d": lambda x, t: F.conv2d(x, t(4, 3, 3, 3)),
    "batch_norm": lambda x, t: F.batch_norm(x, None, None, t(3), t(3), training=True),
    "relu": lambda x, t: F.relu(x),
    "gelu": lambda x, t: F.gelu(x),
    "dropout": lambda x, t: F.dropout(x, 0.5),
    "max_pool2d": lambda x, t: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x, t: F.avg_pool2d(x, 2),
    "pad": lambda x, t: F.pad(x, (0, 0, 0, 0, 1, 1)),
    "flatten": lambda x, t: torch.flatten(x, 1),
    "linear": lambda x, t: F.linear(x.flatten(1), t(5, 192), t(5)),
    "cross_entropy": lambda x, t: F.cross_entropy(x.flatten(1), t(2, dtype=torch.long)),
    "mse_loss": lambda x, t: F.mse_loss(x, t(2, 3, 8, 8)),
    # Where CUDA and the CPU differ. There is no softmax of ours yet.
    "softmax": lambda x, t: F.softmax(x, 1),
    "layer_norm": lambda x, t: F.layer_norm(x, (8,), t(8), t(8)),
    "rms_norm": lambda x, t: F.rms_norm(x, (8,), t(8)),
    "embedding": lambda x, t: F.embedding(t(4, dtype=torch.long), x.flatten(1)),
    "scaled_dot_product_attention": lambda x, t: F.scaled_dot_product_attention(x, x, x,
                                                                                is_causal=True),
}


def record_rules(device):
    tensors, lower = Tensors(device), LOWER[device]

    def of(dtype):
        return tensors(2, 3, 8, 8, dtype=dtype)

    with tensors.mode(), autocast(device):
        rules = {name: [TYPES[f(of(dtype), tensors).dtype] for dtype in (torch.float32, lower)]
                 for name, f in FUNCTIONS.items()}
        rules["add"] = [TYPES[(of(a) + of(b)).dtype] for a, b in
                        ((torch.float32, torch.float32), (lower, lower), (torch.float32, lower))]
    return rules


REGIONS = {
    "resnet50": ["conv1", "layer1", "-layer1.1", "layer2.0.bn2", "layer4.2", "-layer4.2.conv3",
                 "avgpool"],
    "mlp": ["layers.1", "fc"],
}

runs = [record_run(device, name, make(), off) for device in LOWER
        for name, make in (("resnet50", resnet50), ("mlp", Mlp)) for off in ([], REGIONS[name])]
lines = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
sys.stdout.write('{"torch":%s,\n"rules":%s,\n"runs":[\n%s\n]}\n' % (
    json.dumps(torch.__version__), json.dumps({d: record_rules(d) for d in LOWER}), lines))
