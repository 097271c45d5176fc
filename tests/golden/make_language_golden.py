#!/usr/bin/env python3
"""Records what Hugging Face's models compute, for tests/nn/golden_language_test.cpp.

Usage: make_language_golden.py. Writes gpt2.json and llama.json beside itself. Made with Debian's
torch 2.14 and transformers 5.12.

The truth is float64; how far the same model is from it in float32 stands beside it. Parameters are
golden_recipe's, by Hugging Face's names. Weights of GPT-2's Conv1D are (in, out) there: ours are
(out, in), and so are what is drawn for them and their gradients. One label is ignored.
"""
import json
import pathlib

import torch
import transformers
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from golden_recipe import digest, labels, parameter, short

HERE = pathlib.Path(__file__).resolve().parent
BATCH, SEQUENCE, VOCABULARY = 3, 10, 29
STEPS = 10
OPTIMIZERS = {
    "sgd": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01},
    "adamw": {"lr": 0.01, "weight_decay": 0.1},
}


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=SEQUENCE, n_embd=24, n_layer=2, n_head=3,
        attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, attn_implementation="eager"))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, hidden_size=24,
        intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        rms_norm_eps=1e-5, attn_implementation="eager"))


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


def batch():
    count = BATCH * SEQUENCE
    tokens = torch.from_numpy(labels(count, VOCABULARY)).reshape(BATCH, SEQUENCE)
    targets = torch.from_numpy((labels(count, VOCABULARY) * 5 + 1) % VOCABULARY)
    targets[1] = -100
    return tokens, targets


def logits_and_loss(model):
    tokens, targets = batch()
    logits = model(tokens).logits.reshape(-1, VOCABULARY)
    return logits, F.cross_entropy(logits, targets)


def optimizer_of(model, name):
    """Matrices and tables decay, what has one dimension does not."""
    arguments = dict(OPTIMIZERS[name])
    decay = arguments.pop("weight_decay")
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    return (torch.optim.SGD if name == "sgd" else torch.optim.AdamW)(groups, **arguments)


def losses(make, dtype, name):
    model = make().to(dtype)
    fill(model)
    optimizer = optimizer_of(model, name)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = logits_and_loss(model)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def run(make, dtype):
    model = make().to(dtype)
    fill(model)
    logits, loss = logits_and_loss(model)
    loss.backward()
    transposed = turned(model)
    gradients = {name: (p.grad.T if name in transposed else p.grad).contiguous().double()
                 for name, p in model.named_parameters()}
    return {"logits": logits.detach().double(), "loss": loss.item(), "gradients": gradients,
            "losses": {name: losses(make, dtype, name) for name in OPTIMIZERS}}


def distance(got, expected):
    return short(((got - expected).norm() / expected.norm()).item())


def flat(run_):
    return torch.cat([g.reshape(-1) for g in run_["gradients"].values()])


def record(name, make):
    truth, single = run(make, torch.float64), run(make, torch.float32)
    golden = {
        "batch": BATCH, "sequence": SEQUENCE, "vocabulary": VOCABULARY,
        "optimizers": OPTIMIZERS,
        "logits": digest(truth["logits"].numpy()),
        "loss": short(truth["loss"]),
        "losses": {key: [short(v) for v in values] for key, values in truth["losses"].items()},
        "gradients": {key: digest(g.numpy()) for key, g in truth["gradients"].items()},
        "pytorch_f32_error": {
            "logits": distance(single["logits"], truth["logits"]),
            "gradients": distance(flat(single), flat(truth)),
            "losses": {key: short(max(abs(a - b) for a, b in zip(values, truth["losses"][key])))
                       for key, values in single["losses"].items()}},
    }
    (HERE / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    record("gpt2", gpt2)
    record("llama", llama)
