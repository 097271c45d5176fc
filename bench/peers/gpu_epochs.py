#!/usr/bin/env python3
"""The peer of `troupe train configs/cifar10_resnet50.yaml`: CIFAR-10 at 224 in PyTorch, end to end.

Reads the data set's binary files, trains with random crop and flip, and tests after every epoch, as
that config does. --resize workers: torchvision's transforms in DataLoader workers, as its users write
it; --resize gpu: the workers only crop and flip, images grow on the GPU. Prints one JSON object after
each epoch; seconds count from the start of the program.
"""
import argparse
import json
import math
import pathlib
import time

START = time.perf_counter()

import gpu_models  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
IMAGE = 3 * 32 * 32


def read(folder, names):
    """One byte label, then 3072 of the image, channel by channel."""
    parts = []
    for name in names:
        data = bytearray((folder / name).read_bytes())
        parts.append(torch.frombuffer(data, dtype=torch.uint8).reshape(-1, 1 + IMAGE))
    records = torch.cat(parts)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()


class Cifar10(torch.utils.data.Dataset):
    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.labels[index]


def transform_of(options, training):
    steps = [v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()] if training else []
    if options.resize == "workers":
        steps += [
            v2.Resize(options.size, antialias=False),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    return v2.Compose(steps) if steps else nn.Identity()


def loader_of(options, names, training):
    images, labels = read(options.data, names)
    if options.limit:
        images, labels = images[: options.limit], labels[: options.limit]
    return torch.utils.data.DataLoader(
        Cifar10(images, labels, transform_of(options, training)),
        batch_size=options.batch if training else 2 * options.batch,
        shuffle=training,
        drop_last=training,
        num_workers=options.workers,
        pin_memory=options.device.type == "cuda",
        persistent_workers=options.workers > 0,
    )


class OnDevice:
    """What the GPU does to a batch before the model sees it."""

    def __init__(self, options):
        self.options = options
        self.mean = torch.tensor(MEAN, device=options.device).view(1, 3, 1, 1)
        self.std = torch.tensor(STD, device=options.device).view(1, 3, 1, 1)

    def __call__(self, images, labels):
        options = self.options
        images = images.to(options.device, non_blocking=True)
        labels = labels.to(options.device, non_blocking=True)
        if options.resize == "gpu":
            images = nn.functional.interpolate(images.float() / 255, size=options.size, mode="bilinear")
            images = (images - self.mean) / self.std
        dtype = gpu_models.storage_type(options.precision)
        return images.to(dtype, memory_format=torch.channels_last), labels


@torch.no_grad()
def accuracy(step, loader, on_device):
    step.model.eval()
    right = torch.zeros((), dtype=torch.long, device=step.device)
    total = 0
    for batch in loader:
        images, labels = on_device(*batch)
        with step.autocast():
            right += (step.model(images).argmax(1) == labels).sum()
        total += len(labels)
    step.model.train()
    return right.item() / total


def cosine(steps, warmup):
    """Linear warm-up from zero, then half a cosine down to zero."""

    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    return factor


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("datasets/cifar10"))
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--precision", choices=gpu_models.PRECISIONS, default="amp_fp16")
    parser.add_argument("--variant", choices=gpu_models.VARIANTS, default="eager")
    parser.add_argument("--resize", choices=("workers", "gpu"), default="workers")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--warmup", type=float, default=1, help="epochs")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--limit", type=int, help="only the first N images, to try this script")
    parser.add_argument("--device", type=torch.device, default="cuda", help="cpu: only to try it")
    return parser.parse_args()


def main():
    options = parse()
    torch.manual_seed(1)
    training = loader_of(options, [f"data_batch_{i}.bin" for i in range(1, 6)], True)
    testing = loader_of(options, ["test_batch.bin"], False)
    on_device = OnDevice(options)
    model = gpu_models.make_model(options.model, options.size, 3, 10)
    step = gpu_models.TrainingStep(
        model, options.precision, options.variant, options.device, options.lr
    )
    steps = len(training)
    factor = cosine(steps * options.epochs, steps * options.warmup)
    schedule = torch.optim.lr_scheduler.LambdaLR(step.optimizer, factor)
    for epoch in range(options.epochs):
        begin = time.perf_counter()
        total = torch.zeros((), device=options.device)
        for batch in training:
            total += step(*on_device(*batch))
            schedule.step()
        loss = total.item() / steps
        trained = time.perf_counter() - begin
        right = accuracy(step, testing, on_device)
        result = {
            "epochs": epoch + 1,
            "accuracy": round(right, 4),
            "loss": gpu_models.finite(loss),
            "seconds": round(time.perf_counter() - START, 2),
            "images_per_second": round(steps * options.batch / trained, 1),
            **gpu_models.peak_memory(options.device),
            "precision": options.precision,
            "resize": options.resize,
            "workers": options.workers,
            "device": gpu_models.device_name(options.device),
            "torch": torch.__version__,
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
