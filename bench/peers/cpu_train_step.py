#!/usr/bin/env python3
"""The peer of bench/cpu/train_step: the same training step in PyTorch on the CPU.

One step = zero_grad, forward, cross entropy, backward, SGD with momentum 0.9, on one fixed random
batch. Prints one JSON object. Preload tcmalloc and take the faster layout for a fair comparison.
"""
import argparse
import json
import os
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """He et al. 2015, section 4.2, with parameter-free shortcuts (option A)."""

    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)
        self.stride, self.pad = stride, channels_out - channels_in

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        if self.stride != 1 or self.pad:
            x = x[:, :, :: self.stride, :: self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.pad // 2, self.pad - self.pad // 2))
        return F.relu(y + x, inplace=True)


def resnet20(classes):
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    channels = 16
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            layers.append(Block(channels, width, stride if i == 0 else 1))
            channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def make_model(name, classes):
    if name == "resnet20":
        return resnet20(classes)
    import torchvision

    return getattr(torchvision.models, name)(weights=None, num_classes=classes)


def peak_rss_mib():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--layout", choices=("nchw", "nhwc"), default="nhwc")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    classes = 1000 if args.size > 64 else 10
    model = make_model(args.model, classes).train()
    images = torch.randn(args.batch, 3, args.size, args.size)
    labels = torch.randint(0, classes, (args.batch,))
    if args.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    times = []
    start, processor = time.perf_counter(), time.process_time()
    while len(times) < 5 or (time.perf_counter() - start < args.seconds and len(times) < 60):
        begin = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - begin)
    processor = (time.process_time() - processor) / len(times)
    median = statistics.median(times)
    print(
        json.dumps(
            {
                "model": args.model,
                "precision": args.precision,
                "batch": args.batch,
                "size": args.size,
                "threads": args.threads,
                "layout": args.layout,
                "images_per_second": round(args.batch / median, 1),
                "best": round(args.batch / min(times), 1),
                "ms": round(1e3 * median, 2),
                "processor_ms": round(1e3 * processor, 2),
                "steps": len(times),
                "peak_rss_mib": round(peak_rss_mib()),
                "loss": round(loss, 4),
                "torch": torch.__version__,
                "preload": os.environ.get("LD_PRELOAD", ""),
            }
        )
    )


if __name__ == "__main__":
    main()
