#!/usr/bin/env python3
# guides_test.py ROOT TROUPE: follows docs/fine-tuning.md and docs/from-pytorch.md with small images, and checks that the keys which
# they name are there. It needs no PyTorch: what a script of theirs writes is written by TROUPE, under the same names.
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from guide import die, follow, run

ROOT, TROUPE = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "bench"))
from png_file import write_animals  # noqa: E402

# What would take long, and the port, which a test beside this one may have.
FINE_TUNING = {
    "animals.yaml": [
        ("image_size: 224, batch_size: 32", "image_size: 32, batch_size: 8"),
        ("lr: 0.01,", "lr: 0.001,"),  # so few images and random weights would be thrown about
        ("run:   {name: animals}", 'run:   {name: animals}\nmetrics: {listen: "off"}'),
    ]
}
FROM_PYTORCH = {
    "same.yaml": [
        ("image_size: 64, batch_size: 100", "image_size: 32, batch_size: 12"),
        ("run:   {name: same}", 'run:   {name: same}\nmetrics: {listen: "off"}'),
    ]
}
# The scripts of both pages, with the weights of a ResNet-18 that they write: file and classes.
WRITES = {"weights.py": ("resnet18.safetensors", 1000), "same.py": ("start.safetensors", 3), "agree.py": None}


def write_weights(work, file, classes):
    """Of a model that has made one step."""
    settings = {
        "run.name": "weights",
        "model.name": "resnet18",
        "model.stem": "imagenet",
        "model.num_classes": classes,
        "data.dataset": "synthetic",
        "data.batch_size": 2,
        "train.max_steps": 1,
        "train.evaluate_every": 0,
        "metrics.listen": "off",
    }
    (work / "weights.yaml").write_text("run: {}\n", encoding="utf-8")
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run([TROUPE, "train", "weights.yaml", "--set", "checkpoint.resume=never", *options], cwd=work)
    run([TROUPE, "export", "runs/weights", "--format", "safetensors", "-o", file], cwd=work)


def stand_in(work):
    def python3(script):
        if script not in WRITES or not (work / script).exists():
            die(f"a page runs {script}, which it does not show or this test does not know")
        if WRITES[script]:
            write_weights(work, *WRITES[script])

    return python3


def check_keys(page):
    """What stands in backticks and begins with a section's name is a key of the config, or a section."""
    properties = json.loads(run([TROUPE, "config", "schema"]))["properties"]
    for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?![\w.(])[^`]*`", page.read_text(encoding="utf-8")):
        section, *rest = name.split(".")
        at = properties.get(section)
        if not at or name.endswith((".py", ".yaml", ".safetensors", ".onnx")):
            continue
        for part in rest:
            at = next((kind for kind in [at, *at.get("anyOf", []), *at.get("oneOf", [])] if part in kind.get("properties", {})), None)
            if at is None:
                die(f"{page.name} names {name}, which is no key")
            at = at["properties"][part]


with tempfile.TemporaryDirectory() as folder:
    work = Path(folder)
    environment = {**os.environ, "PATH": f"{TROUPE.parent}:{os.environ['PATH']}"}
    write_animals(work / "data/animals", train=16, val=4)
    for name, changes in (("fine-tuning.md", FINE_TUNING), ("from-pytorch.md", FROM_PYTORCH)):
        page = ROOT / "docs" / name
        check_keys(page)
        follow(page, work, environment, changes, stand_in(work), names=("bird", "frog", "horse"))
    for file in ("animals.onnx", "same.onnx", "same.safetensors"):
        if (work / file).stat().st_size < 40_000_000:
            die(f"{file} is no ResNet-18")
