#!/usr/bin/env python3
"""The peer of bench/gpu/train_step: the same training step in PyTorch on a GPU.

One fixed random batch in the device's memory: images, channels_last, torch.backends.cudnn.benchmark and
SGD; with --sequence tokens, a GPT-2 whose attention is SDPA, and AdamW. Variants: eager; fused (eager with
the fused optimizer); compile (torch.compile(mode="max-autotune"), CUDA graphs, fused optimizer); graphs
(mode="reduce-overhead"). Prints one JSON object a measurement, timed by events between steps. With --serve
it prepares (imports, compiles, warms up), says so in a JSON line, and then measures once for every line on
standard input, so that peers can take turns.
"""
import argparse
import json
import statistics
import sys
import time

import gpu_models
import torch


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--precision", choices=gpu_models.PRECISIONS, default="amp_fp16")
    parser.add_argument("--variant", choices=gpu_models.VARIANTS, default="eager")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--sequence", type=int, default=0, help="tokens of a sample: a language model")
    parser.add_argument("--vocabulary", type=int, default=50304)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--profile", action="store_true", help="time per kernel, to standard error")
    parser.add_argument("--device", default="cuda", help="cpu: only to try this script")
    return parser.parse_args()


class Bench:
    def __init__(self, options):
        self.options = options
        self.device = torch.device(options.device)
        torch.manual_seed(0)
        (self.prepare_language if options.sequence else self.prepare_images)()
        begin = time.perf_counter()
        for _ in range(options.warmup):
            self.run_step()
        gpu_models.synchronize(self.device)
        self.prepare_seconds = time.perf_counter() - begin

    def prepare_images(self):
        options = self.options
        model = gpu_models.make_model(
            options.model, options.size, options.channels, options.classes
        )
        self.step = self.training_step(model, lr=0.01)
        shape = (options.batch, options.channels, options.size, options.size)
        dtype = gpu_models.storage_type(options.precision)
        self.inputs = torch.randn(shape).to(self.device, dtype, memory_format=torch.channels_last)
        self.labels = self.random_below(options.classes, (options.batch,))
        self.rate, self.samples = "images_per_second", options.batch

    def prepare_language(self):
        options = self.options
        model = gpu_models.make_language_model(
            options.model, options.sequence, options.vocabulary
        )
        self.step = self.training_step(model, lr=6e-4, make_optimizer=gpu_models.adamw)
        shape = (options.batch, options.sequence)
        self.inputs = self.random_below(options.vocabulary, shape)
        self.labels = self.random_below(options.vocabulary, shape)
        self.rate, self.samples = "tokens_per_second", options.batch * options.sequence

    def training_step(self, model, **optimizer):
        options = self.options
        return gpu_models.TrainingStep(
            model, options.precision, options.variant, self.device, **optimizer
        )

    def random_below(self, bound, shape):
        return torch.randint(0, bound, shape).to(self.device)

    def run_step(self):
        return self.step(self.inputs, self.labels)

    def seconds_per_step(self):
        gpu_models.synchronize(self.device)
        begin = time.perf_counter()
        for _ in range(3):
            self.run_step()
        gpu_models.synchronize(self.device)
        return (time.perf_counter() - begin) / 3

    def measure(self):
        options = self.options
        steps = int(min(2000, max(10, options.seconds / self.seconds_per_step())))
        ticks = gpu_models.Ticks(self.device)
        ticks.tick()
        processor = time.process_time()
        for _ in range(steps):
            loss = self.run_step()
            ticks.tick()
        processor = time.process_time() - processor  # of enqueueing: the wait below would spin
        gpu_models.synchronize(self.device)
        times = ticks.milliseconds()
        median = statistics.median(times)
        return {
            "model": options.model,
            "precision": options.precision,
            "variant": options.variant,
            "batch": options.batch,
            "size": options.sequence or options.size,
            self.rate: round(1e3 * self.samples / median, 1),
            "best": round(1e3 * self.samples / min(times), 1),
            "ms": round(median, 3),
            "mean_ms": round(statistics.fmean(times), 3),
            **gpu_models.peak_memory(self.device),
            "cpu_us_per_step": round(1e6 * processor / steps, 1),
            "prepare_seconds": round(self.prepare_seconds, 1),
            "loss": gpu_models.finite(loss.item()),
            "device": gpu_models.device_name(self.device),
            "steps": steps,
            "torch": torch.__version__,
        }

    def profile(self):
        """Share of the time in which no kernel ran; the kernels go to standard error."""
        kinds = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profile:
            for _ in range(5):
                self.run_step()
            gpu_models.synchronize(self.device)
        table = profile.key_averages().table(sort_by="self_device_time_total", row_limit=40)
        print(table, file=sys.stderr)
        cuda = [it for it in profile.events() if it.device_type == torch.autograd.DeviceType.CUDA]
        kernels = [it for it in cuda if not is_annotation(it)]
        return idle_ratio([(it.time_range.start, it.time_range.end) for it in kernels])


def is_annotation(event):
    """A named stretch of time, such as the optimizer's step, with its gaps."""
    return getattr(event, "is_user_annotation", False) or event.name.startswith("Optimizer.")


def idle_ratio(spans):
    """Of the time from the first start to the last end, the part that no span covers."""
    if not spans:
        return None
    spans = sorted(spans)
    first, covered_to, idle = spans[0][0], spans[0][1], 0
    for start, end in spans:
        idle += max(0, start - covered_to)
        covered_to = max(covered_to, end)
    return round(idle / (covered_to - first), 4) if covered_to > first else None


def main():
    options = parse()
    bench = Bench(options)
    if options.serve:
        print(json.dumps({"ready": True, "prepare_seconds": bench.prepare_seconds}), flush=True)
        for _ in sys.stdin:
            print(json.dumps(bench.measure()), flush=True)
        return
    result = bench.measure()
    if options.profile:
        result["idle_ratio"] = bench.profile()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
