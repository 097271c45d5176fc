#!/usr/bin/env python3
"""Records resample.json: torchvision's resized crops and antialiased resizes, for tests/data/resample_test.cpp.

Usage: record_resample.py > resample.json    (torch and torchvision; made with 2.14 and 0.27)
"""
import json
import sys

import torch
import torchvision
from torchvision.transforms import functional as F
from torchvision.transforms import InterpolationMode

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def pattern(height, width, channels):
    """The same image as pattern() in tests/data/image_files.cpp, as floats in [0, 1], CHW."""
    y = torch.arange(height).view(1, -1, 1)
    x = torch.arange(width).view(1, 1, -1)
    c = torch.arange(channels).view(-1, 1, 1)
    return ((37 * y + 11 * x + 83 * c + x * y) % 256).float() / 255


def recorded(image, out_channels, size, flip):
    image = F.hflip(image) if flip else image
    image = F.normalize(image.expand(out_channels, size, size), MEAN[:out_channels], STD[:out_channels])
    return [float(f"{v:.6g}") for v in image.permute(1, 2, 0).flatten().tolist()]


def crop(height, width, channels, out_channels, size, box, flip):
    """box: top, left, height, width of RandomResizedCrop's choice."""
    image = F.resized_crop(pattern(height, width, channels), *box, [size, size],
                           InterpolationMode.BILINEAR, antialias=True)
    return dict(height=height, width=width, channels=channels, out_channels=out_channels, size=size,
                box=box, flip=flip, values=recorded(image, out_channels, size, flip))


def evaluate(height, width, channels, out_channels, size, resize):
    image = F.resize(pattern(height, width, channels), [resize], InterpolationMode.BILINEAR, antialias=True)
    image = F.center_crop(image, [size, size])
    return dict(height=height, width=width, channels=channels, out_channels=out_channels, size=size,
                resize=resize, values=recorded(image, out_channels, size, False))


json.dump(dict(
    torch=torch.__version__, torchvision=torchvision.__version__, mean=MEAN, deviation=STD,
    crops=[
        crop(8, 8, 3, 3, 8, (0, 0, 8, 8), False),       # as it is
        crop(20, 30, 3, 3, 8, (3, 5, 14, 17), True),    # smaller
        crop(20, 30, 3, 3, 8, (0, 0, 20, 30), False),   # all of it
        crop(20, 30, 3, 3, 8, (16, 25, 4, 5), True),    # larger, at the edge
        crop(64, 9, 3, 3, 8, (1, 2, 61, 5), False),     # smaller down, larger across
        crop(13, 40, 1, 3, 8, (2, 7, 11, 31), True),    # grey to colour
        crop(13, 40, 1, 1, 8, (2, 7, 11, 31), False),
        crop(5, 5, 3, 3, 8, (2, 3, 1, 1), False),       # one pixel
    ],
    evaluations=[
        evaluate(23, 30, 3, 3, 8, 9),
        evaluate(61, 40, 3, 3, 8, 11),
        evaluate(8, 8, 3, 3, 8, 8),
        evaluate(6, 5, 1, 3, 8, 10),
        evaluate(100, 31, 1, 1, 8, 9),
    ],
    # A box that no try can find is taken from the centre: the largest with an allowed ratio.
    fallbacks=[dict(height=h, width=w, box=list(torchvision.transforms.RandomResizedCrop.get_params(
        torch.zeros(1, h, w), [4.0, 4.0], [3 / 4, 4 / 3]))) for h, w in [(10, 100), (100, 10), (30, 31), (7, 5)]]),
    sys.stdout, separators=(",", ":"))
print()
