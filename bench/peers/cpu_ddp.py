#!/usr/bin/env python3
"""The peer of bench/compare_ddp: PyTorch's DistributedDataParallel over Gloo on the CPU, one process
a rank, with the step and the models of cpu_train_step.py. Prints one JSON object.
"""
import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from cpu_train_step import make_model
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, args, results):
    # Debian builds PyTorch without libuv.
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port), USE_LIBUV="0")
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    torch.set_num_threads(args.threads)
    torch.manual_seed(rank)
    model = make_model(args.model, 10).train()
    images = torch.randn(args.batch, 3, args.size, args.size)
    labels = torch.randint(0, 10, (args.batch,))
    if args.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()
    times = []
    for step in range(args.steps + 3):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        if step >= 3:
            times.append(time.perf_counter() - begin)
    if rank == 0:
        results.put(statistics.median(times))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="of a rank")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--layout", choices=("nchw", "nhwc"), default="nhwc")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--port", type=int, default=29511)
    args = parser.parse_args()

    context = mp.get_context("spawn")
    results = context.SimpleQueue()
    mp.start_processes(train, (args, results), nprocs=args.ranks, start_method="spawn")
    seconds = results.get()
    print(
        json.dumps(
            {
                "layout": args.layout,
                "images_per_second": round(args.ranks * args.batch / seconds, 1),
                "ms": round(1e3 * seconds, 2),
                "torch": torch.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
