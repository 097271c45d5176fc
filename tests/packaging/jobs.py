# What tests of services and pods train, and how they wait.
import random
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
from guide import die  # noqa: E402


def until(what, condition, seconds=120):
    for _ in range(seconds * 5):
        if result := condition():
            return result
        time.sleep(0.2)
    return die(f"in {seconds} s not so: {what}")


def write_idx(folder):
    """Fashion-MNIST's files, small, of noise: the same on every host."""
    noise = random.Random(1)
    for part, count in (("train", 6000), ("t10k", 500)):
        pixels = struct.pack(">IIII", 0x803, count, 28, 28) + noise.randbytes(count * 28 * 28)
        labels = struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)
