"""The part `epochs`: CIFAR-10 at 224, from its files to the accuracy, ours and PyTorch's."""

import json
import pathlib
import tempfile
import time

from suite import cifar10, programs
from suite.programs import OutOfTime, Trouble
from suite.rows import TRAININGS
from suite.step import OURS

TINY = {"model.name": "linear", "model.stem": "cifar", "data.image_size": 32, "data.limit": 1280}
LEAST = 20.0  # seconds; nothing is begun with less
WHAT = "CIFAR-10 at 224 from its files to the accuracy, ours and PyTorch's"
NEEDS = ("the seven files of CIFAR-10", "PyTorch")
why_skipped = cifar10.why_skipped


def our_command(suite, training, output):
    settings = {
        "run.name": training.name,
        "run.output": output,
        "devices.kind": "cuda",
        "precision.mode": training.precision,
        "data.root": suite.data,
        "train.epochs": suite.options.epochs,
        "checkpoint.every": "never",
        "metrics.listen": "127.0.0.1:0",
        **(TINY if suite.options.tiny else {}),
    }
    changes = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [suite.program("troupe"), "train", suite.root / "configs/cifar10_resnet50.yaml", *changes]


def peer_command(suite, training, resize):
    script = suite.root / "bench/peers/gpu_epochs.py"
    options = ["--precision", training.precision, "--resize", resize]
    options += ["--epochs", suite.options.epochs, "--workers", suite.options.workers]
    if suite.options.tiny:
        options += ["--model", "resnet18", "--size", 32, "--limit", 64, "--batch", 8]
    return [*suite.python, script, "--data", suite.data, *options]


def plan(suite):
    for training in chosen(suite):
        yield our_command(suite, training, "OUTPUT")
        yield from (peer_command(suite, training, resize) for resize in training.peers)


def run_ours(suite, training, log, seconds):
    """Also what a run that was cut had done: at SIGTERM it finishes its step and writes its summary."""
    with tempfile.TemporaryDirectory(prefix="troupe-epochs-") as output:
        start, trouble = time.monotonic(), None
        try:
            programs.run(our_command(suite, training, output), seconds, log)
        except Trouble as caught:
            trouble = caught
        wall = time.monotonic() - start
        path = pathlib.Path(output) / training.name / "summary.json"
        if not path.is_file():
            raise trouble or Trouble("wrote no summary.json")
        summary = json.loads(path.read_text())
    result = {
        "epochs": summary["epochs"],
        "seconds": round(wall, 1),
        "seconds_in_training": summary["seconds"],
        "accuracy": summary["accuracy"],
        "peak_memory_mib": max(it["peak_memory_bytes"] for it in summary["workers"]) / 2**20,
        "images_per_second": summary["samples_per_second"],
    }
    return result, trouble


def run_peer(suite, training, resize, log, seconds):
    """One JSON line an epoch: what came before a cut counts."""
    found, trouble, start = [], None, time.monotonic()

    def keep(line):
        if value := programs.as_object(line):
            found.append({**value, "seconds": round(time.monotonic() - start, 1)})

    try:
        programs.run(peer_command(suite, training, resize), seconds, log, keep)
    except Trouble as caught:
        trouble = caught
    if not found:
        raise trouble or Trouble("ended without a result")
    return found[-1], trouble


def compare(row):
    """Times faster: seconds of the same number of whole epochs, or, after a cut, seconds an epoch."""
    results = row["results"]
    ours = results.get(OURS)
    if not ours or not ours["epochs"]:
        return
    if ours["epochs"] == row["wanted"]:
        row["summary"][f"seconds_of_{row['wanted']}"] = ours["seconds"]
    for who, peer in results.items():
        if who != OURS and peer["epochs"]:
            row["summary"][f"ratio_{who}"] = per_epoch(peer) / per_epoch(ours)


def per_epoch(result):
    return result["seconds"] / result["epochs"]


def chosen(suite):
    return [training for training in TRAININGS if suite.wanted(training.name)]


def run_part(suite, log, deadline):
    cifar10.check(suite)
    for training in chosen(suite):
        row = suite.report.row("epochs", training.name)
        row.update(wanted=suite.options.epochs, results={}, summary={})
        for who in (OURS, *training.peers):
            left = deadline - time.monotonic()
            if left < LEAST:
                row.setdefault("left_out", {})[who] = "no time left"
                continue
            suite.say(f"epochs: {training.name}, {who}")
            try:
                if who == OURS:
                    row["results"][who], trouble = run_ours(suite, training, log, left)
                else:
                    row["results"][who], trouble = run_peer(suite, training, who, log, left)
            except Trouble as caught:
                trouble = caught
            if trouble:
                cut = isinstance(trouble, OutOfTime)
                row.setdefault("left_out" if cut else "failed", {})[who] = str(trouble)
            compare(row)
            suite.report.save()
    failed = [name for name, row in suite.report.rows("epochs").items() if row.get("failed")]
    if failed:
        raise Trouble(f"rows that failed: {', '.join(failed)}")
