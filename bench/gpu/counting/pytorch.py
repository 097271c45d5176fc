"""PyTorch's step by the same rules, from the lists in bench/gpu/pytorch: each kernel with the tensors that it
reads and writes, for each layer of a kind, and where in PyTorch it comes from."""

import json
import pathlib

from counting import resnet50
from counting.work import Work

LISTS = pathlib.Path(__file__).resolve().parents[1] / "pytorch"
BYTES = {"f32": 4, "f16": 2, "i64": 8, "i8": 1}


def bytes_of(layer, tensor):
    """Of "name:type", "one" being a scalar, or of what a layer gives the bytes of."""
    name, _, of_type = tensor.partition(":")
    if name == "one":
        return BYTES[of_type]
    return layer.elements[name] * BYTES[of_type] if of_type else layer.bytes[name]


def work_of(layer, kernel):
    return Work(
        kernel["kind"],
        kernel["source"],
        kernel["for"],
        sum(bytes_of(layer, tensor) for tensor in kernel["reads"]),
        sum(bytes_of(layer, tensor) for tensor in kernel["writes"]),
        layer.operations * kernel.get("operations", 0),
        kernel["launches"],
    )


def works(kernels, layers):
    return [work_of(layer, kernel) for kernel in kernels for layer in layers if kernel["for"] in layer.kinds]


def steps(counted):
    """By name; none for another network than that of the lists."""
    known = {"model": "resnet50", "precision": "amp_fp16", "size": 224, "optimizer": "sgd"}
    if any(counted[key] != value for key, value in known.items()):
        return {}
    layers = resnet50.layers(counted["batch"], counted["size"], counted["classes"])
    lists = {"PyTorch eager": "eager_amp.json", "PyTorch compile": "compile_amp.json"}
    return {
        name: works(json.loads((LISTS / file).read_text())["kernels"], layers) for name, file in lists.items()
    }
