#!/usr/bin/env python3
"""The peer of bench/check_language: transformers' GPT-2 learns what a config of ours says, from its text.

  learn_text.py CONFIG [--seed N] [--threads N]

CONFIG is what `troupe config show` has written of a GPT-2 on the bytes of one file. The same windows of bytes are trained and evaluated on
(docs/language-models.md), with the same sizes, AdamW, schedule and clipping; initial values are transformers', the order of windows is PyTorch's.
Prints one JSON object: the test loss at the end, perplexity, and the seconds that it took.
"""
import argparse
import json
import math
import pathlib
import re
import time

import torch

import run_config
from language_models import SIZES, adamw, mean_loss, transformers_gpt2

END_OF_DOCUMENT = 256


def refuse_others(config):
    """What this script does not do."""
    expected = {
        "data.dataset": "text",
        "data.tokenizer": "bytes",
        "data.limit": "null",
        "model.vocabulary": "null",
        "model.intermediate": "null",
        "model.head": "usual",
        "model.dropout": "0",
        "train.max_tokens": "null",
        "train.optimizer.name": "adamw",
        "train.schedule.name": "cosine",
        "train.accumulate": "1",
        "train.label_smoothing": "0",
        "precision.mode": "fp32",
    }
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise SystemExit(f"learn_text: {key} is {config[key]}, but has to be {value}")


def decay_of(config):
    """The rate of the decay, which must apply to matrices only."""
    text = config["train.optimizer.weight_decay"]
    if found := re.fullmatch(r"\{rate: (\S+), parameters: matrices\}", text):
        return float(found[1])
    raise SystemExit(f"learn_text: train.optimizer.weight_decay is {text}, but has to be {{rate: RATE, parameters: matrices}}")


def windows_of(config):
    """Rows of a window's tokens and the one that follows: to train on, and to evaluate on."""
    root, length = pathlib.Path(config["data.root"]), int(config["data.sequence_length"])
    files = sorted(root.iterdir()) if root.is_dir() else [root]
    files = [file for file in files if not file.name.startswith(".") and file.suffix != ".tokens"]
    tokens = []
    for file in files:
        tokens += [*file.read_bytes(), END_OF_DOCUMENT]
    count = (len(tokens) - 1) // length
    held = max(math.floor(float(config["data.validation"]) * count + 0.5), 1)
    rows = torch.tensor(tokens[: count * length + 1]).unfold(0, length + 1, length)
    return rows[: count - held], rows[count - held :]


def model_of(config):
    given = [config[f"model.{key}"] for key in ("layers", "width", "heads", "positions")]
    usual = (*SIZES[config["model.name"]], 1024)
    *sizes, positions = (own if text == "null" else int(text) for text, own in zip(given, usual))
    return transformers_gpt2(*sizes, END_OF_DOCUMENT + 1, positions)


def learning_rate(config, step, steps_of_epoch, steps):
    """nn/schedule.cpp's cosine; the warm-up is given in epochs."""
    lr, least = float(config["train.optimizer.lr"]), float(config["train.schedule.min_lr"])
    warmup = math.floor(float(config["train.schedule.warmup"]) * steps_of_epoch + 0.5)
    if step < warmup:
        return lr * (step + 1) / warmup
    done = (step - warmup) / (steps - warmup)
    return least + (lr - least) * 0.5 * (1 + math.cos(math.pi * done))


def batches(windows, size):
    """Without end: each pass in an order of its own, without what does not fill a batch."""
    while True:
        order = torch.randperm(len(windows))
        for first in range(0, len(order) - size + 1, size):
            yield windows[order[first : first + size]]


def train(model, config, windows):
    size = int(config["data.batch_size"])
    steps_of_epoch = len(windows) // size
    steps = min(int(config["train.max_steps"]), int(config["train.epochs"]) * steps_of_epoch)
    betas = tuple(json.loads(config["train.optimizer.betas"]))
    optimizer = adamw(model, 0.0, betas, decay_of(config), eps=float(config["train.optimizer.eps"]))
    model.train()
    for step, batch in zip(range(steps), batches(windows, size)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step, steps_of_epoch, steps)
        optimizer.zero_grad(set_to_none=True)
        mean_loss(model, batch[:, :-1], batch[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), float(config["train.clip_grad"]))
        optimizer.step()


def evaluate(model, config, windows):
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for batch in windows.split(int(config["data.eval_batch_size"])):
            total += mean_loss(model, batch[:, :-1], batch[:, 1:]).item() * len(batch)
    return total / len(windows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    config = run_config.read(args.config)
    refuse_others(config)
    training, held = windows_of(config)
    model = model_of(config)
    begin = time.perf_counter()
    train(model, config, training)
    loss = evaluate(model, config, held)
    found = {"seed": args.seed, "loss": loss, "perplexity": math.exp(loss)}
    found |= {"windows": len(training), "test_windows": len(held)}
    print(json.dumps({**found, "seconds": round(time.perf_counter() - begin, 1)}))


if __name__ == "__main__":
    main()
