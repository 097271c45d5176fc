"""Inputs and parameters of the golden runs, the same numbers as tests/nn/golden_recipe.cpp makes.

Every value is a function of (seed, name of the tensor, position): Philox4x32-10 as in
core/random.hpp, its stream being the FNV-1a hash of the name. Only float32 operations that round
once are used, so that both languages get the same bits.
"""
import numpy as np

SEED = 20
MASK = np.uint64(0xFFFFFFFF)


def stream_of(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def philox_words(key, stream, count):
    """The first `count` 32-bit words of CounterRng(key, stream)."""
    blocks = (count + 3) // 4
    position = np.arange(blocks, dtype=np.uint64)
    c = [position & MASK, position >> np.uint64(32),
         np.full(blocks, stream & 0xFFFFFFFF, np.uint64), np.full(blocks, stream >> 32, np.uint64)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & MASK,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & MASK]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).reshape(-1)[:count]


def uniform(name, shape):
    """float32 in [-1, 1)."""
    count = int(np.prod(shape))
    words = philox_words(SEED, stream_of(name), count)
    values = (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(2) * values - np.float32(1)).reshape(shape)


def parameter(name, shape):
    noise = uniform(name, shape)
    if len(shape) == 4:  # as large as He's initialization: variance 2 / fan_out
        return np.float32((6.0 / (shape[0] * shape[2] * shape[3])) ** 0.5) * noise
    if len(shape) == 2:
        return np.float32(1.0 / shape[1] ** 0.5) * noise
    if name.endswith("bn3.weight"):
        # The last scale of a bottleneck: residuals are small, as in a network that trains well.
        # With 1 here a ResNet-50 multiplies rounding errors by a thousand, in PyTorch too.
        return np.float32(0.25) + np.float32(0.0625) * noise
    if name.endswith("weight"):  # batch norm's scale
        return np.float32(1) + np.float32(0.25) * noise
    return np.float32(0.25) * noise


def labels(count, classes):
    return (np.arange(count) * 7 + 3) % classes


def digest(values):
    """l2 norm, sum, and up to 64 elements, evenly spaced: element i * size // 64."""
    flat = np.asarray(values, np.float64).reshape(-1)
    step = min(64, flat.size)
    picked = flat[(np.arange(step) * flat.size) // step]
    return {"l2": short(np.sqrt(np.sum(flat**2))), "sum": short(np.sum(flat)),
            "samples": [short(v) for v in picked]}


def short(value):
    return float(f"{float(value):.9g}")
