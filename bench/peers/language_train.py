#!/usr/bin/env python3
"""The peer of `troupe train` on texts: the same training step in PyTorch on the CPU.

  language_train.py [--model gpt2|gpt2-mini|gpt2-medium] [--variant transformers|plain] [--compile]
                    [--precision fp32|bf16] [--batch N] [--sequence N] [--vocabulary N]
                    [--threads N] [--seconds N]

One step = zero_grad, forward, cross entropy, backward, fused AdamW, on one fixed batch of random
bytes. transformers is GPT2LMHeadModel as it comes, plain the same model without it: products with
weights (out, in), one op for the activation (language_models.py). bf16 is autocast. --compile needs
a C++ compiler. Prints one JSON object: {"problem": ...} where the variant does not run here. Preload
tcmalloc for a fair comparison. After two steps of warm-up it goes on for --seconds, three steps at
least.
"""
import argparse
import json
import os
import statistics
import time

import torch

from language_models import SIZES, PlainGpt2, adamw, mean_loss, transformers_gpt2

WARM_UP, FEWEST = 2, 3


def peak_rss_mib():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def make_step(args):
    torch.manual_seed(0)
    make = PlainGpt2 if args.variant == "plain" else transformers_gpt2
    model = make(*SIZES[args.model], args.vocabulary, args.sequence).train()
    optimizer = adamw(model, 6e-4, (0.9, 0.95), 0.1)
    loss_function = torch.compile(mean_loss) if args.compile else mean_loss
    tokens = torch.randint(0, min(256, args.vocabulary), (args.batch, args.sequence + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            loss = loss_function(model, inputs, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def measure(step, seconds):
    for _ in range(WARM_UP):
        step()
    times = []
    start, processor = time.perf_counter(), time.process_time()
    while len(times) < FEWEST or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - begin)
    return times, (time.process_time() - processor) / len(times), loss


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=SIZES, default="gpt2-mini")
    parser.add_argument("--variant", choices=("transformers", "plain"), default="transformers")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=257)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(args.threads)
    said = {**vars(args), "torch": torch.__version__, "preload": os.environ.get("LD_PRELOAD", "")}
    try:
        times, processor, loss = measure(make_step(args), args.seconds)
    except Exception as error:  # torch.compile fails in many ways
        if not args.compile:
            raise
        problem = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        print(json.dumps({**said, "problem": problem}))
        return
    tokens, median = args.batch * args.sequence, statistics.median(times)
    figures = {
        "tokens_per_second": round(tokens / median, 1),
        "best": round(tokens / min(times), 1),
        "ms": round(1e3 * median, 2),
        "processor_ms": round(1e3 * processor, 2),
        "steps": len(times),
        "peak_rss_mib": round(peak_rss_mib()),
        "loss": round(loss, 4),
        "isa": torch.backends.cpu.get_cpu_capability(),
    }
    print(json.dumps({**said, **figures}))


if __name__ == "__main__":
    main()
