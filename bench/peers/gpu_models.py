"""The models of the GPU peers, and PyTorch's training step as its users write it."""

import contextlib
import math
import time

import language_models
import torch
from torch import nn

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "amp_fp16", "amp_bf16")
VARIANTS = ("eager", "fused", "graphs", "compile")
# "compile" tunes every kernel and can take minutes; "graphs" is the same without the tuning.
COMPILE_MODES = {"graphs": "reduce-overhead", "compile": "max-autotune"}
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def make_language_model(name, sequence, vocabulary):
    return language_models.PlainGpt2(*language_models.SIZES[name], vocabulary, sequence)


def make_model(name, size, channels, classes):
    """A ResNet; small images get the CIFAR stem: one 3x3 convolution, no pooling."""
    import torchvision  # which language models do without

    model = getattr(torchvision.models, name)(weights=None, num_classes=classes)
    if size <= 64:
        model.conv1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False)
        model.maxpool = nn.Identity()
    elif channels != 3:
        model.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
    return model.to(memory_format=torch.channels_last)


def storage_type(precision):
    """Of parameters and images: the pure modes keep nothing in fp32."""
    return HALVES.get(precision, torch.float32)


def sgd(model, lr, fused):
    options = {"momentum": 0.9, "weight_decay": 5e-4}
    return torch.optim.SGD(model.parameters(), lr=lr, fused=fused, **options)


def adamw(model, lr, fused):
    """As configs/gpt2_124m.yaml has it."""
    return language_models.adamw(model, lr, (0.9, 0.95), 0.1, fused=fused)


class TrainingStep:
    """zero_grad, forward, cross entropy, backward, and an optimizer: sgd or adamw above."""

    def __init__(self, model, precision, variant, device, lr, make_optimizer=sgd):
        self.precision, self.device = precision, device
        tf32 = precision != "fp32"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True
        self.model = model.to(device=device, dtype=storage_type(precision)).train()
        # None, not False: then PyTorch takes its default, one launch for many tensors.
        fused = None if variant == "eager" else True
        self.optimizer = make_optimizer(self.model, lr, fused)
        scaled = precision == "amp_fp16" and device.type == "cuda"
        self.scaler = torch.amp.GradScaler(device.type, enabled=scaled)
        self.loss_of = self.forward
        self.compiled = variant in COMPILE_MODES
        if self.compiled:
            self.loss_of = torch.compile(self.forward, mode=COMPILE_MODES[variant], dynamic=False)

    def autocast(self):
        if self.precision.startswith("amp_"):
            return torch.autocast(self.device.type, dtype=HALVES[self.precision[4:]])
        return contextlib.nullcontext()

    def forward(self, inputs, labels):
        """Of a language model each token has a label."""
        logits = self.model(inputs).float()
        return nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())

    def __call__(self, inputs, labels):
        """The loss, on the device: nothing is waited for."""
        if self.compiled:
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = self.loss_of(inputs, labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()


def finite(loss):
    """For JSON, which has no NaN."""
    return round(loss, 4) if math.isfinite(loss) else None


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device):
    """MiB that tensors and workspaces took at most, and that were reserved for them."""
    if device.type != "cuda":
        return {"peak_memory_mib": None, "peak_reserved_mib": None}
    return {
        "peak_memory_mib": round(torch.cuda.max_memory_allocated(device) / 2**20, 1),
        "peak_reserved_mib": round(torch.cuda.max_memory_reserved(device) / 2**20, 1),
    }


def device_name(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


class Ticks:
    """Points in the device's time."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"
        self.points = []

    def tick(self):
        if self.cuda:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.points.append(event)
        else:
            self.points.append(1e3 * time.perf_counter())

    def milliseconds(self):
        """Between neighbours; the device must have come to the last."""
        pairs = zip(self.points, self.points[1:])
        return [a.elapsed_time(b) if self.cuda else b - a for a, b in pairs]
