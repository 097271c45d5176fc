#!/usr/bin/env python3
"""Records what Hugging Face's models compute, for tests/nn/golden_language_test.cpp.

Usage: make_language_golden.py [NAME ...]. Writes gpt2.json, llama.json and gpt2_124m.json beside
itself, or those that are named. Made with Debian's torch 2.14 and transformers 5.12. gpt2_124m is
GPT-2 as it is, in all its sizes: 40 seconds of a processor.

The truth is float64; how far the same model is from it in float32, and the small ones in each mode
of 16 bits, stands beside it. Parameters are
golden_recipe's, by Hugging Face's names. Weights of GPT-2's Conv1D are (in, out) there: ours are
(out, in), and so are what is drawn for them and their gradients. One label is ignored.
"""
import json
import pathlib
import sys
import typing

import torch
import transformers
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from golden_recipe import digest, labels, parameter, short
from precision_modes import HALVES, PrecisionMode

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 10
OPTIMIZERS = {
    "sgd": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01},
    "adamw": {"lr": 0.01, "weight_decay": 0.1},
}


class Case(typing.NamedTuple):
    """A model, and the batch that it is given."""

    make: typing.Callable
    batch: int = 3
    sequence: int = 10
    vocabulary: int = 29
    optimizers: dict = OPTIMIZERS


def compact(value):
    if not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "{" + ",".join(f"\n{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'))}" for key, entry in value.items()) + "}"


def gpt2(**sizes):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, attn_implementation="eager", **sizes))


def small_gpt2():
    return gpt2(vocab_size=29, n_positions=10, n_embd=24, n_layer=2, n_head=3)


def small_llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=29, max_position_embeddings=10, hidden_size=24,
        intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        rms_norm_eps=1e-5, attn_implementation="eager"))


CASES = {
    "gpt2": Case(small_gpt2),
    "llama": Case(small_llama),
    # Transformers' default is GPT-2 of 124 million parameters.
    "gpt2_124m": Case(gpt2, batch=1, sequence=64, vocabulary=50257, optimizers={}),
}


def turned(model):
    """Names of weights that are stored (in, out)."""
    return {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, Conv1D)}


def fill(model):
    transposed = turned(model)
    with torch.no_grad():
        for name, value in model.named_parameters():
            shape = tuple(value.shape)
            if name in transposed:
                value.copy_(torch.from_numpy(parameter(name, shape[::-1])).T)
            else:
                value.copy_(torch.from_numpy(parameter(name, shape)))


def batch(case):
    count = case.batch * case.sequence
    tokens = torch.from_numpy(labels(count, case.vocabulary)).reshape(case.batch, case.sequence)
    targets = torch.from_numpy((labels(count, case.vocabulary) * 5 + 1) % case.vocabulary)
    targets[1] = -100
    return tokens, targets


def logits_and_loss(case, mode, model):
    tokens, targets = batch(case)
    with mode.autocast():
        logits = model(tokens).logits.reshape(-1, case.vocabulary)
    logits = logits.to(max(logits.dtype, torch.float32, key=lambda dtype: dtype.itemsize))
    return logits, F.cross_entropy(logits, targets)


def filled(case, mode):
    model = case.make()
    fill(model)
    return model.to(mode.stored)


def optimizer_of(model, mode, name):
    """Matrices and tables decay, what has one dimension does not. Fused ones compute halves in f32."""
    arguments = dict(OPTIMIZERS[name], fused=mode.stored.itemsize == 2)
    decay = arguments.pop("weight_decay")
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    return (torch.optim.SGD if name == "sgd" else torch.optim.AdamW)(groups, **arguments)


def losses(case, mode, name):
    model = filled(case, mode)
    optimizer = optimizer_of(model, mode, name)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = logits_and_loss(case, mode, model)
        mode.backward(loss, model)
        optimizer.step()
        found.append(loss.item())
    return found


def run(case, mode):
    mode = PrecisionMode(mode)
    model = filled(case, mode)
    logits, loss = logits_and_loss(case, mode, model)
    mode.backward(loss, model)
    transposed = turned(model)
    gradients = {name: (p.grad.T if name in transposed else p.grad).contiguous().double()
                 for name, p in model.named_parameters()}
    return {"logits": logits.detach().double(), "loss": loss.item(), "gradients": gradients,
            "losses": {name: losses(case, mode, name) for name in case.optimizers}}


def distance(got, expected):
    return short(((got - expected).norm() / expected.norm()).item())


def flat(run_):
    return torch.cat([g.reshape(-1) for g in run_["gradients"].values()])


def error(found, truth):
    """How far a run is from the truth."""
    return {"logits": distance(found["logits"], truth["logits"]),
            "gradients": distance(flat(found), flat(truth)),
            "losses": {key: short(max(abs(a - b) for a, b in zip(values, truth["losses"][key])))
                       for key, values in found["losses"].items()}}


def record(name, case):
    truth = run(case, "fp64")
    modes = ("fp32", *HALVES) if case.optimizers else ("fp32",)
    golden = {
        "batch": case.batch, "sequence": case.sequence, "vocabulary": case.vocabulary,
        "optimizers": case.optimizers,
        "logits": digest(truth["logits"].numpy()),
        "loss": short(truth["loss"]),
        "losses": {key: [short(v) for v in values] for key, values in truth["losses"].items()},
        "gradients": {key: digest(g.numpy()) for key, g in truth["gradients"].items()},
        "pytorch_error": {mode: error(run(case, mode), truth) for mode in modes},
    }
    # One line for each value, or for each tensor of a mapping.
    lines = [f"{json.dumps(key)}: {compact(value)}" for key, value in golden.items()]
    (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or CASES:
        record(chosen, CASES[chosen])
