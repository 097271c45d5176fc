#!/usr/bin/env python3
"""Looks at what bench/check_models left in a folder: ONNX's checker, ONNX Runtime, torchvision, safetensors.

  check_models.py FOLDER

For each model: the checker passes with full_check; ONNX Runtime's logits at batches of 1, 3 and 8
are those of `troupe predict`; so are those of torchvision's model of the same name, which takes the
safetensors file with strict=True; safetensors' own reader gives the same values in each precision.
Prints a table of the largest differences; ends with 1 where one is beyond its bound.
"""
import json
import pathlib
import sys

import onnx  # before torch: the other order has crashed
import numpy
import onnxruntime
import safetensors
import safetensors.torch
import torch
import torchvision
from PIL import Image

BOUND = 1e-4  # of logits in fp32: of the largest one, or absolute where that is below 1
HALF_BOUND = 2e-2
BATCHES = (1, 3, 8)


def read_images(folder, channels):
    images = []
    for path in sorted(folder.glob("*.png")):
        image = Image.open(path).convert("L" if channels == 1 else "RGB")
        pixels = numpy.asarray(image, dtype=numpy.float32) / numpy.float32(255)
        images.append(pixels.reshape(*pixels.shape[:2], channels).transpose(2, 0, 1))
    return numpy.stack(images)


def read_rows(path, features):
    lines = path.read_text().splitlines()
    names = lines[0].split(",")
    places = [names.index(name) for name in features]
    rows = [[float(line.split(",")[place]) for place in places] for line in lines[1:]]
    return numpy.array(rows, dtype=numpy.float64)


def normalized(samples, normalization):
    if not normalization["mean"]:
        return samples.astype(numpy.float32)
    shape = (1, -1, 1, 1) if samples.ndim == 4 else (1, -1)
    mean, std = (numpy.array(normalization[key]).reshape(shape) for key in ("mean", "std"))
    return ((samples - mean) / std).astype(numpy.float32)


def difference(got, expected):
    return float(numpy.abs(got - expected).max() / max(1.0, numpy.abs(expected).max()))


def ask_runtime(path, inputs, output="logits"):
    """At several batches: the model's own takes none of them alone."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return {batch: session.run([output], {"input": inputs[:batch]})[0] for batch in BATCHES}


def check_onnx(folder, raw, inputs, expected):
    found = {}
    for name in ("model.onnx", "folded.onnx", "half.onnx", "whole.onnx"):
        onnx.checker.check_model(str(folder / name), full_check=True)
        given = raw if name == "whole.onnx" else inputs
        answers = ask_runtime(folder / name, given)
        found[name] = max(difference(answer, expected[:batch]) for batch, answer in answers.items())
    graph = onnx.load(folder / "model.onnx").graph
    kinds = [node.op_type for node in graph.node]
    assert "BatchNormalization" not in [node.op_type for node in onnx.load(folder / "folded.onnx").graph.node]
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    probabilities = ask_runtime(folder / "whole.onnx", raw, "probabilities")[8]
    assert numpy.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    return found, kinds


def torchvision_model(name, weights):
    """None where torchvision has none, or none as narrow."""
    if not hasattr(torchvision.models, name) or weights["conv1.weight"].shape[0] != 64:
        return None
    model = getattr(torchvision.models, name)(weights=None, num_classes=weights["fc.weight"].shape[0])
    stem = weights["conv1.weight"].shape
    if stem[2] == 3:  # CIFAR's
        model.conv1 = torch.nn.Conv2d(stem[1], stem[0], 3, 1, 1, bias=False)
        model.maxpool = torch.nn.Identity()
    return model.eval()


def check_torchvision(name, weights, inputs, expected):
    model = torchvision_model(name, weights)
    if model is None:
        return None
    model.load_state_dict(weights, strict=True)
    with torch.inference_mode():
        return difference(model(torch.from_numpy(inputs)).numpy(), expected)


def check_safetensors(folder):
    exact = safetensors.torch.load_file(folder / "fp32.safetensors")
    for precision, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
        narrow = safetensors.torch.load_file(folder / f"{precision}.safetensors")
        assert narrow.keys() == exact.keys()
        for key, value in narrow.items():
            assert value.dtype == dtype and torch.equal(value, exact[key].to(dtype)), key
    with safetensors.safe_open(folder / "fp32.safetensors", framework="pt") as file:
        return exact, file.metadata()


def check(folder):
    predictions = json.loads((folder / "predictions.json").read_text())
    weights, metadata = check_safetensors(folder)
    is_table = (folder / "samples/rows.csv").exists()
    if is_table:
        raw = read_rows(folder / "samples/rows.csv", ["a", "b", "c"])
    else:
        channels = json.loads(metadata["normalization"])["mean"]
        raw = read_images(folder / "samples", len(channels))
    inputs = normalized(raw, json.loads(metadata["normalization"]))
    rows = predictions["predictions"]
    # Values of a table's targets are the outputs; in JSON they have names.
    expected = numpy.array(
        [row["logits"] if "logits" in row else list(row["values"].values()) for row in rows], dtype=numpy.float32
    )
    found, kinds = check_onnx(folder, raw, inputs, expected)
    vision = check_torchvision(metadata["model"], weights, inputs, expected)
    good = found["half.onnx"] < HALF_BOUND and all(
        value < BOUND for name, value in found.items() if name != "half.onnx"
    )
    good = good and (vision is None or vision < BOUND)
    shown = [f"{found[name]:.1e}" for name in ("model.onnx", "folded.onnx", "whole.onnx", "half.onnx")]
    shown.append("-" if vision is None else f"{vision:.1e}")
    largest = float(numpy.abs(expected).max())
    print(f"| {folder.name} | {len(kinds)} | {largest:.1f} | {' | '.join(shown)} | {'yes' if good else 'NO'} |", flush=True)
    return good


def main():
    print(f"onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}, PyTorch {torch.__version__}, ", end="")
    print(f"torchvision {torchvision.__version__}, safetensors {safetensors.__version__}\n")
    print("| model | nodes | largest logit | ONNX | folded | normalizes itself | fp16 | torchvision | agrees |")
    print("|---|---|---|---|---|---|---|---|---|")
    folders = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if (path / "predictions.json").exists())
    return 0 if folders and all([check(folder) for folder in folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
