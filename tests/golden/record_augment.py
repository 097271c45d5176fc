#!/usr/bin/env python3
"""Records augment.json: what torchvision makes of small images, for tests/data/augment_test.cpp.

Usage: record_augment.py > augment.json    (torch and torchvision; made with 2.14 and 0.27)
"""
import json
import sys

import torch
import torchvision
from torchvision.transforms import functional as F
from torchvision.transforms import InterpolationMode

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]


def pattern(height, width, channels):
    """The same image as pattern() in tests/data/image_files.cpp, as floats in [0, 1], CHW."""
    y = torch.arange(height).view(1, -1, 1)
    x = torch.arange(width).view(1, 1, -1)
    c = torch.arange(channels).view(-1, 1, 1)
    return ((37 * y + 11 * x + 83 * c + x * y) % 256).float() / 255


def record(height, width, channels, out_channels, size, window, flip):
    """window: (top, left) of RandomCrop's choice in the image padded with size // 8; None: the centre."""
    image = pattern(height, width, channels)
    image = F.resize(image, [size], InterpolationMode.BILINEAR, antialias=False)
    if window is None:
        image = F.center_crop(image, [size, size])
    else:
        image = F.crop(F.pad(image, [size // 8]), *window, size, size)
    if flip:
        image = F.hflip(image)
    image = image.expand(out_channels, size, size)
    image = F.normalize(image, MEAN[:out_channels], STD[:out_channels])
    values = [float(f"{v:.6g}") for v in image.permute(1, 2, 0).flatten().tolist()]
    return dict(height=height, width=width, channels=channels, out_channels=out_channels, size=size,
                centre=window is None, top=window[0] - size // 8 if window else 0,
                left=window[1] - size // 8 if window else 0, flip=flip, values=values)


cases = [
    record(8, 8, 3, 3, 8, None, False),
    record(8, 8, 3, 3, 8, (0, 2), False),
    record(8, 8, 3, 3, 8, (2, 0), True),
    record(8, 8, 1, 3, 8, (1, 2), True),
    record(8, 8, 1, 1, 8, (2, 1), False),
    record(5, 5, 3, 3, 8, None, False),
    record(5, 7, 3, 3, 8, None, True),
    record(5, 7, 3, 3, 8, (0, 5), False),
    record(7, 5, 1, 3, 8, (4, 0), True),
    record(13, 8, 3, 3, 8, None, False),
    record(29, 23, 3, 3, 8, None, False),
    record(23, 30, 1, 1, 8, (2, 3), True),
    record(2, 2, 1, 1, 16, (0, 4), False),
]
json.dump(dict(torch=torch.__version__, torchvision=torchvision.__version__, mean=MEAN, deviation=STD,
               cases=cases), sys.stdout, separators=(",", ":"))
print()
