#!/usr/bin/env python3
"""The peer of `troupe generate`: transformers' generate, greedy, with its cache of keys and values.

  language_generate.py FOLDER --prompt 72,101,108 [--tokens N] [--threads N] [--precision fp32|bf16] [--seconds N]

FOLDER is what `troupe export --format huggingface` has written. No token ends the text, so that there are --tokens new ones. After one text of
warm-up it goes on for --seconds, three texts at least. Prints one JSON object: the new tokens, and medians of the seconds until the first one is
there (the prompt's) and behind it. Preload tcmalloc for a fair comparison. bf16: the whole model.
"""
import argparse
import json
import os
import statistics
import time

import torch
import transformers

FEWEST = 3


def load(args):
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    model = transformers.AutoModelForCausalLM.from_pretrained(
        args.folder, dtype=dtype, attn_implementation="sdpa"
    ).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def make_generate(model, prompt):
    inputs = torch.tensor([prompt])
    mask = torch.ones_like(inputs)

    def generate(count):
        """New tokens, and the seconds that they took."""
        begin = time.perf_counter()
        with torch.inference_mode():
            found = model.generate(
                inputs, attention_mask=mask, max_new_tokens=count, do_sample=False, use_cache=True
            )
        return found[0, len(prompt) :].tolist(), time.perf_counter() - begin

    return generate


def measure(generate, count, seconds):
    """The tokens; seconds of each text, and of each first token."""
    tokens, _ = generate(count)
    whole, first = [], []
    while len(whole) < FEWEST or sum(whole) < seconds:
        first.append(generate(1)[1])
        again, took = generate(count)
        assert again == tokens, "the same prompt gave other tokens"
        whole.append(took)
    return tokens, statistics.median(whole), statistics.median(first)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--prompt", required=True, help="token ids with commas between them")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    generate = make_generate(load(args), [int(token) for token in args.prompt.split(",")])
    tokens, whole, first = measure(generate, args.tokens, args.seconds)
    found = {
        "tokens": tokens,
        "first_seconds": first,
        "next_seconds": whole - first,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "preload": os.environ.get("LD_PRELOAD", ""),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
