#!/usr/bin/env python3
# extending_test.py SOURCE BUILD COMPILER GENERATOR: installs BUILD, moves the tree, and follows docs/extending.md in a
# folder that has nothing of the source tree but examples/. Then it looks at what the two programs do with input that is
# wrong, at what they say of their keys, at a run that goes on, and at processes that they start.
import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
from guide import die, run  # noqa: E402
from pages import fences  # noqa: E402

SOURCE, BUILD, COMPILER, GENERATOR = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5]


def install(scratch):
    """A home folder, in which .local is the installed tree after a move."""
    run(["cmake", "--install", BUILD, "--prefix", scratch / "first"])
    (scratch / "home").mkdir()
    (scratch / "first").rename(scratch / "home/.local")
    return scratch / "home"


def check_headers(include):
    """Each header that one includes is there, too: all of them compile as far as that goes."""
    for header in sorted(include.rglob("*.*")):
        for name in re.findall(r'^#include "([^"]+)"', header.read_text(encoding="utf-8"), re.MULTILINE):
            if not (include / name).exists():
                die(f"{header.relative_to(include)} includes {name}, which is not installed")


def write_cifar100(folder):
    """Files of CIFAR-100's layout: an image is as bright in a colour as its coarse class says."""
    folder.mkdir(parents=True)
    numbers = random.Random(1)
    for file, count in (("train.bin", 256), ("test.bin", 64)):
        with open(folder / file, "wb") as out:
            for i in range(count):
                coarse, fine = i % 20, i % 100
                out.write(bytes([coarse, fine]))
                for colour in (coarse % 3, coarse // 3 % 3, coarse // 9):
                    out.write(bytes(40 + 80 * colour + numbers.randrange(16) for _ in range(1024)))
    for kind, count in (("coarse", 20), ("fine", 100)):
        names = "".join(f"{kind} {i}\n" for i in range(count))
        (folder / f"{kind}_label_names.txt").write_text(names, encoding="utf-8")


def follow_page(work, environment):
    """Runs the commands of the page's shell fences, one after the other, in one shell. That `make` is done already."""
    commands = "".join(fence.text for fence in fences(SOURCE / "docs/extending.md") if fence.info == "sh")
    if "my-troupe train" not in commands:
        die("docs/extending.md does not train")
    script = "set -eu\nmake() { [ \"$*\" = 'install-development PREFIX='\"$HOME/.local\" ]; }\n" + commands
    run(["bash", "-c", script], cwd=work, env=environment)


def losses(run_folder):
    lines = (run_folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["loss"] for line in lines]


def check_learnt(run_folder):
    found = losses(run_folder)
    first, last = sum(found[:4]) / 4, sum(found[-4:]) / 4
    if not last < 0.8 * first:
        die(f"{run_folder.name}: the loss goes from {first} to {last}")


def check_model(program, work):
    def troupe(*arguments, **expected):
        return run([program, *arguments], cwd=work, **expected)

    config = "examples/own_model/patchnet.yaml"
    check = ("config", "check", config)
    troupe(*check, "--set", "model.pach=4", code=2, says=['did you mean "patch"?'])
    troupe(*check, "--set", "model.activation=gleu", code=2, says=['did you mean "gelu"?'])
    troupe(*check, "--set", "model.name=pathcnet", code=2, says=['did you mean "patchnet"?'])
    troupe(*check, "--set", "model.patch=0", code=2, says=["0 is out of range"])
    troupe(*check, "--set", "model.patch=5", code=2, says=["do not divide into patches"])
    troupe(*check, "--set", "model.name=resnet20", code=2, says=["or a model that takes it: patchnet"])
    model = json.loads(troupe("config", "schema"))["properties"]["model"]["properties"]
    if "patchnet" not in model["name"]["enum"] or model["patch"]["default"] != 4:
        die(f"the schema does not have the model: {model}")
    troupe("config", "schema", "--format", "markdown", says=["| `patch` | `4` | a whole number, 1 to 64 |"])
    troupe("plan", config, says=["single: everything fits"])

    # It goes on with the same model only.
    steps = len(losses(work / "runs/patchnet"))
    further = ("train", config, "--set", "train.epochs=3", "--set", "metrics.listen=off")
    said = "was made with model.activation gelu, but the config has relu"
    troupe(*further, "--set", "model.activation=relu", code=2, says=[said])
    troupe(*further)
    if not steps < len(losses(work / "runs/patchnet")) <= 3 * steps // 2:
        die(f"{len(losses(work / 'runs/patchnet'))} steps after {steps}: it did not go on")

    # Its child processes know the model: they are the same program.
    short = ("--set", "train.max_steps=2", "--set", "train.evaluate_every=0", "--set", "metrics.listen=off")
    troupe("compare", config, "--strategies", "single,ddp", *short)


def check_data(program, work):
    def refused(*settings, says):
        run([program, "train", "examples/own_data/cifar100.yaml", *settings], cwd=work, code=2, says=says)

    refused("--set", "data.labels=fnie", says=['did you mean "fine"?'])
    refused("--set", "data.dataset=cifra100", says=['did you mean "cifar100"?'])
    refused("--set", "data.dataset=synthetic", says=["or a data set that has it: cifar100"])
    refused("--set", "data.labels=fine", says=["has 100 classes (", "but model.num_classes is 20"])
    refused("--set", "data.root=nowhere", says=["cannot read nowhere/coarse_label_names.txt"])
    with open(work / "datasets/cifar100/train.bin", "ab") as file:
        file.write(b"x")
    refused("--set", "run.name=other", says=["train.bin: 786945 bytes are no whole records of 3074"])


with tempfile.TemporaryDirectory() as folder:
    scratch = Path(folder)
    home, work = install(scratch), scratch / "work"
    check_headers(home / ".local/include")
    shutil.copytree(SOURCE / "examples", work / "examples")
    write_cifar100(work / "datasets/cifar100")
    follow_page(work, {**os.environ, "HOME": str(home), "CXX": COMPILER, "CMAKE_GENERATOR": GENERATOR})
    check_learnt(work / "runs/patchnet")
    check_learnt(work / "runs/cifar100")
    check_model(work / "build/own_model/my-troupe", work)
    check_data(work / "build/own_data/my-troupe", work)
