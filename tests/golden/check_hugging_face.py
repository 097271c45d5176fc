#!/usr/bin/env python3
"""Compares GPT-2 and LLaMA of troupe with transformers', both ways, by the program.

Usage: check_hugging_face.py TROUPE. Needs torch, transformers, safetensors and numpy (run with
Debian's torch 2.14 and transformers 5.12).

Theirs to ours: transformers saves a small random model; troupe begins with it, trains nothing that
shows (a learning rate of 1e-30) and exports it again. The text's loss has to be the one that
transformers finds, every tensor has to come back, transformers has to load the folder without a
missing, left over or mismatched tensor, and give the same logits.

Ours to theirs: troupe trains a small model from its own beginning and exports it; transformers
loads it likewise, its loss over the text has to be the one that troupe's evaluation gave, and it
has to go on with a text by the same tokens, always the likeliest.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from torch.nn import functional as F

SEQUENCE, VOCABULARY = 16, 257  # of troupe's bytes
TEXT = "".join(f"line {i} of a text that two programs read\n" for i in range(400))
PROMPT = "line 1 "
CLASSES = {"gpt2": transformers.GPT2LMHeadModel, "llama": transformers.LlamaForCausalLM}
OURS = {
    "gpt2": ["model.name=gpt2-mini", f"model.positions={SEQUENCE}"],
    "llama": ["model.name=llama-mini", "model.kv_heads=2", "model.norm_epsilon=1e-3"],
}
SIZES = ["model.width=32", "model.layers=2", "model.heads=4", "model.intermediate=64"]


def theirs(family):
    if family == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=VOCABULARY, n_positions=SEQUENCE, n_embd=32, n_layer=2, n_head=4, n_inner=64,
            bos_token_id=256, eos_token_id=256))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, hidden_size=32,
        intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        rms_norm_eps=1e-3, bos_token_id=256, eos_token_id=256))


def call(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr)


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        (folder / "text").write_text(TEXT)
        (folder / "empty.yaml").write_text("{}\n")

    def train(self, name, settings):
        fixed = [f"run.name={name}", f"run.output={self.folder / 'runs'}", "data.dataset=text",
                 f"data.root={self.folder / 'text'}", f"data.sequence_length={SEQUENCE}",
                 "data.batch_size=4", "data.eval_batch_size=4", "train.optimizer.name=sgd",
                 "train.optimizer.momentum=0", "devices.kind=cpu"]
        words = [self.path, "train", self.folder / "empty.yaml"]
        for setting in fixed + SIZES + settings:
            words += ["--set", setting]
        call(*words)
        return self.folder / "runs" / name

    def generate(self, run, prompt, tokens):
        words = [self.path, "generate", run, prompt, "--tokens", str(tokens), "--temperature", "0", "--json"]
        return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["tokens"]

    def export(self, run):
        out = self.folder / f"{run.name}-out"
        call(self.path, "export", run, "--format", "huggingface", "-o", out)
        return out


def loaded(family, folder):
    model, info = CLASSES[family].from_pretrained(folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[kind], (folder, kind, info[kind])
    return model.eval()


def logits(model):
    tokens = torch.tensor([list(TEXT.encode()[:SEQUENCE])])
    with torch.no_grad():
        return model(tokens).logits


def evaluated_loss(model):
    """Of the last tenth of all windows, as data.validation has them by default."""
    tokens = torch.tensor(list(TEXT.encode()) + [256])
    count = (len(tokens) - 1) // SEQUENCE
    held = range(count - int(count * 0.1 + 0.5), count)
    losses = []
    for i in held:
        window = tokens[i * SEQUENCE:(i + 1) * SEQUENCE + 1]
        with torch.no_grad():
            found = model(window[None, :-1]).logits[0]
        losses.append(F.cross_entropy(found, window[1:]))
    return torch.stack(losses).mean().item()


def both_losses(run, model):
    """Of the run's evaluation and of transformers' model, which have to be the same."""
    here = json.loads((run / "epochs.jsonl").read_text().splitlines()[-1])["test_loss"]
    there = evaluated_loss(model)
    assert abs(there - here) < 1e-5 * there, (here, there)
    return here, there


def check_theirs(program, family):
    torch.manual_seed(7)
    model = theirs(family).eval()
    folder = program.folder / f"{family}-theirs"
    model.save_pretrained(folder, safe_serialization=True)
    run = program.train(f"{family}-same", OURS[family] + [
        f"model.pretrained={folder}", "train.max_steps=1", "train.optimizer.lr=1e-30"])
    out = program.export(run)
    before, after = load_file(folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys(), before.keys() ^ after.keys()
    for name, value in before.items():
        assert torch.allclose(value, after[name], rtol=0, atol=1e-20), name
    assert torch.allclose(logits(model), logits(loaded(family, out)), rtol=0, atol=1e-6)
    here, there = both_losses(run, model)
    print(f"{family}: {len(before)} tensors of theirs came back, their loss is {here:.6f} here and {there:.6f} there")


def greedy_tokens(model, count):
    prompt = torch.tensor([list(PROMPT.encode())])
    with torch.no_grad():
        return model.generate(prompt, max_new_tokens=count, do_sample=False)[0, len(PROMPT):].tolist()


def check_ours(program, family):
    run = program.train(f"{family}-trained", OURS[family] + [
        "train.epochs=1", "train.optimizer.lr=0.1"])
    model = loaded(family, program.export(run))
    here, there = both_losses(run, model)
    tokens = program.generate(run, PROMPT, SEQUENCE - len(PROMPT))
    assert tokens == greedy_tokens(model, SEQUENCE - len(PROMPT)), tokens
    print(f"{family}: the loss of ours is {here:.6f} here and {there:.6f} there, and so are {len(tokens)} tokens that go on")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for family in CLASSES:
        with tempfile.TemporaryDirectory() as folder:
            program = Program(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
            check_theirs(program, family)
            check_ours(program, family)


if __name__ == "__main__":
    main()
