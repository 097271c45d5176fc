"""Steps of PyTorch and llm.c by the same rules, from lists of their kernels (bench/gpu/pytorch, bench/gpu/llm_c):
for each kind of layer, the tensors that a kernel reads and writes, and where its source is."""

import json
import pathlib

from counting import gpt2, llama, resnet50
from counting.work import Work

LISTS = pathlib.Path(__file__).resolve().parents[1]
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1}
RESNET50 = {"PyTorch eager": "pytorch/eager_amp.json", "PyTorch compile": "pytorch/compile_amp.json"}
GPT2 = {"llm.c": "llm_c/gpt2.json", "PyTorch compile": "pytorch/compile_gpt2.json"}
LLAMA = {"PyTorch compile": "pytorch/compile_llama.json"}


def bytes_of(layer, tensor):
    """Bytes of "name:type" ("one" is a scalar), or of a name for which the layer has bytes."""
    name, _, of_type = tensor.partition(":")
    if name == "one":
        return BYTES[of_type]
    return layer.elements[name] * BYTES[of_type] if of_type else layer.bytes[name]


def work_of(layer, kernel):
    return Work(
        kernel["kind"],
        kernel["source"],
        kernel["for"],
        layer.times * sum(bytes_of(layer, tensor) for tensor in kernel["reads"]),
        layer.times * sum(bytes_of(layer, tensor) for tensor in kernel["writes"]),
        layer.times * layer.operations * kernel.get("operations", 0),
        layer.times * kernel["launches"],
        kernel.get("class", "narrow"),
    )


def works(kernels, layers):
    return [work_of(layer, kernel) for kernel in kernels for layer in layers if kernel["for"] in layer.kinds]


def kernels_of(file):
    return json.loads((LISTS / file).read_text())["kernels"]


def is_resnet50(counted):
    known = {"model": "resnet50", "precision": "amp_fp16", "size": 224, "optimizer": "sgd", "slices": 1}
    return all(counted[key] == value for key, value in known.items())


def is_language_model(counted, family):
    known = {"precision": "amp_bf16", "optimizer": "adamw"}
    return counted["model"].startswith(family) and all(counted[key] == value for key, value in known.items())


def steps(counted):
    """Works by the peer's name; empty for models without lists."""
    if is_resnet50(counted):
        lists, layers = RESNET50, resnet50.layers(counted["batch"], counted["size"], counted["classes"])
    elif is_language_model(counted, "gpt2"):
        lists, layers = GPT2, gpt2.layers(counted["language"], counted["slices"])
    elif is_language_model(counted, "llama"):
        lists, layers = LLAMA, llama.layers(counted["language"], counted["slices"])
    else:
        return {}
    return {name: works(kernels_of(file), layers) for name, file in lists.items()}
