#!/usr/bin/env python3
"""The peers of bench/cpu/predict: the same forward pass in PyTorch (eval) and in ONNX Runtime on the CPU.

One run = the model's logits of one fixed random batch. Prints one JSON object. Preload tcmalloc and
take the faster layout for a fair comparison with PyTorch. ONNX Runtime reads a file of
`troupe export --format onnx` (--onnx), or the one that PyTorch's exporter makes, and has the same
number of threads.
"""
import argparse
import json
import os
import statistics
import time


def pytorch(args):
    import torch
    import torchvision

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = getattr(torchvision.models, args.model)(weights=None).eval()
    images = torch.randn(args.batch, 3, args.size, args.size)
    if args.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    if args.precision == "bf16" and args.cast:  # the whole model, instead of autocast
        model, images = model.bfloat16(), images.bfloat16()

    def run():
        with torch.inference_mode(), torch.autocast(
            "cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16" and not args.cast
        ):
            return model(images)

    return run, torch.__version__


def onnx_runtime(args):
    import numpy
    import onnxruntime

    path = args.onnx
    if not path:
        import io

        import torch
        import torchvision

        model = getattr(torchvision.models, args.model)(weights=None).eval()
        file = io.BytesIO()
        torch.onnx.export(
            model,
            (torch.randn(1, 3, args.size, args.size),),
            file,
            input_names=["input"],
            dynamic_axes={"input": {0: "batch"}},
            dynamo=False,
        )
        path = file.getvalue()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    images = numpy.random.default_rng(0).standard_normal(
        (args.batch, 3, args.size, args.size), dtype=numpy.float32
    )
    return lambda: session.run(None, {"input": images}), onnxruntime.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=("pytorch", "onnxruntime"), default="pytorch")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--cast", action="store_true", help="bf16: model.bfloat16(), not autocast")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--layout", choices=("nchw", "nhwc"), default="nhwc")
    parser.add_argument("--onnx", help="the file that ONNX Runtime reads")
    args = parser.parse_args()

    run, version = pytorch(args) if args.runtime == "pytorch" else onnx_runtime(args)
    for _ in range(3):
        run()
    times = []
    start, processor = time.perf_counter(), time.process_time()
    while len(times) < 5 or (time.perf_counter() - start < args.seconds and len(times) < 200):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    processor = (time.process_time() - processor) / len(times)
    median = statistics.median(times)
    print(
        json.dumps(
            {
                "runtime": args.runtime,
                "version": version,
                "model": args.model,
                "precision": args.precision,
                "batch": args.batch,
                "size": args.size,
                "threads": args.threads,
                "layout": args.layout,
                "images_per_second": round(args.batch / median, 2),
                "best": round(args.batch / min(times), 2),
                "ms": round(1e3 * median, 2),
                "processor_ms": round(1e3 * processor, 2),
                "runs": len(times),
                "preload": os.environ.get("LD_PRELOAD", ""),
            }
        )
    )


if __name__ == "__main__":
    main()
