"""Documents as a run makes them (docs/files.md), one subject each."""

import math

COLUMNS = ("step", "loss", "loss_low", "loss_high", "accuracy", "lr", "samples_per_second", "mfu", "gradient_norm",
           "loss_scale", "data_wait_ratio", "overlap_ratio", "epoch")  # fmt: skip
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
KINDS = ["compute", "collective", "optimizer", "data", "copy", "handler"]


def noise(index):
    """Between -1 and 1, the same for an index in every run."""
    return math.modf(math.sin(index * 12.9898 + 78.233) * 43758.5453)[0]


def steps(count, per_point=4, begin=0, norm=True, scale=False):
    """Columns of `count` points, as training makes them."""
    points = {name: [] for name in COLUMNS}
    for index in range(begin, begin + count):
        loss = 0.35 + 1.95 * math.exp(-index / 90) + 0.09 * noise(index)
        values = {
            "step": index * per_point, "loss": loss, "loss_low": loss - 0.12 - 0.05 * abs(noise(index + 7)),
            "loss_high": loss + 0.13 + 0.08 * abs(noise(index + 3)), "accuracy": 1 - 0.9 * math.exp(-index / 110) + 0.02 * noise(index + 1),
            "lr": 0.1 * (1 + math.cos(math.pi * min(index, 300) / 300)), "samples_per_second": 1180 + 60 * noise(index + 2), "mfu": 0.38 + 0.02 * noise(index + 2),
            "gradient_norm": 1.1 + 0.5 * abs(noise(index + 4)) if norm else None, "loss_scale": 65536.0 if scale else None,
            "data_wait_ratio": 0.012 + 0.01 * abs(noise(index + 5)), "overlap_ratio": 0.78 + 0.08 * noise(index + 6), "epoch": index * per_point // 390,
        }  # fmt: skip
        for name in COLUMNS:
            points[name].append(values[name])
    return {"from": 0, "per_point": per_point} | points


def epochs(count):
    return [{"epoch": index, "time": f"2026-11-24T04:{45 + index % 10}:07.370Z", "step": 195 * (index + 1) - 1, "train_loss": 1.4 / (1 + index) + 0.3,
             "train_accuracy": 1 - 0.52 / (1 + index), "test_loss": 1.35 / (1 + index) + 0.42, "test_accuracy": 0.94 - 0.45 / (1 + index),
             "seconds": 41.2, "test_seconds": 3.1} for index in range(count)]  # fmt: skip


def worker(rank, limit=8 * GIB):
    kinds = {"parameters": 40 * MIB, "gradients": 40 * MIB, "optimizer": 80 * MIB, "activations": 900 * MIB + rank * 20 * MIB,
             "workspace": 210 * MIB, "data": 48 * MIB, "communication": 26 * MIB, "pinned": 0}  # fmt: skip
    return {"rank": rank, "device": f"cpu:{rank}", "node": "alpha" if rank < 2 else "beta", "peak_memory_bytes": sum(kinds.values()) + 90 * MIB,
            "memory_bytes": sum(kinds.values()), "memory_limit_bytes": limit, "bytes_by_kind": kinds,
            "peak_bytes_by_kind": {name: value + 9 * MIB for name, value in kinds.items()},
            "busy_ratio": 0.93 - 0.03 * rank % 0.4, "data_wait_ratio": 0.02, "collective_ratio": 0.03, "optimizer_ratio": 0.01, "step_seconds": 0.108}  # fmt: skip


def timeline(ranks=2):
    rows = []
    for rank in range(ranks):
        compute, collective, optimizer, begin = [], [], [], 0.002 + 0.001 * rank
        for index in range(18):
            name = f"{'forward' if index < 8 else 'backward'} layer{(index if index < 8 else 17 - index) // 3 + 1}.{index % 3}"
            length = 0.0022 if index < 8 else 0.0046
            compute.append([begin, length, 0, name])
            begin += length + 0.0002
            if index > 9:
                collective.append([begin, 0.0031, 1, f"all-reduce bucket {index - 10}"])
                optimizer.append([begin + 0.0036, 0.0011, 2, f"sgd bucket {index - 10}"])
        for name, spans in (("compute", compute), ("collectives", collective), ("optimizer", optimizer),
                            ("handlers", [[0.0005, 0.0004, 5, "begin step"], [0.074, 0.0005, 5, "commit"]])):  # fmt: skip
            rows.append({"group": f"rank {rank}", "name": name, "spans": spans})
    rows.append({"group": "node alpha", "name": "data loader", "spans": [[0.001, 0.019, 3, "fill batch 42"], [0.03, 0.017, 3, "fill batch 43"]]})
    return {"step": 41, "seconds": 0.081, "kinds": KINDS, "rows": rows, "dropped": 0}


def log(count=24):
    lines = [{"time": f"2026-11-24T04:45:{index:02}.120Z", "level": "info", "text": f"epoch 1: step {index * 10} of 3900"} for index in range(count)]
    lines[5] |= {"level": "warning", "text": "data: 2 files could not be read, they are skipped"}
    return lines


def actors():
    names = [("coordinator", 1, 0, 5.1), ("worker", 2, 1, 96.0), ("shard_manager", 2, 3, 214.5), ("data_loader", 1, 0, 31.2), ("checkpointer", 1, 0, 0.1),
             ("metrics", 1, 0, 22.0)]  # fmt: skip
    return [{"name": name, "count": count, "waiting": waiting, "messages": int(rate * 310), "messages_per_second": rate,
             "busy_ratio": min(1, rate / 4000)} for name, count, waiting, rate in names]  # fmt: skip


def nodes():
    return [{"name": "alpha", "address": "10.0.0.1:9400", "page": "10.0.0.1:9401", "state": "training", "ranks": [0], "devices": ["cpu:0"], "leads": True,
             "heartbeat_age_seconds": 0.4, "version": "0.1.0"},
            {"name": "beta", "address": "10.0.0.2:9400", "page": None, "state": "training", "ranks": [1], "devices": ["cpu:0"], "leads": False,
             "heartbeat_age_seconds": 3.2, "version": "0.1.0"}]  # fmt: skip


def run(status="training", live=True, points=150, **changes):
    """A run in the middle: two workers on two nodes."""
    columns = steps(points)
    done = points * 4
    document = {
        "kind": "run", "live": live, "made": "2026-11-24T04:50:07.370Z", "status": status, "error": None,
        "run": {"name": "resnet20-ddp", "model": "resnet20", "dataset": "cifar10", "sample_name": "images", "class_names": ["cat", "dog"],
                "strategy": "ddp", "precision": "fp32", "world_size": 2, "batch_size": 128, "steps_per_epoch": 195, "total_steps": 1950, "first_step": 0,
                "operations_per_step": 9.7e9, "peak_operations_per_second": 236e9,
                "started": "2026-11-24T04:45:00Z", "host": "alpha", "version": "0.1.0", "recompute": None},
        "progress": {"steps": done, "epoch": done // 195, "epochs": 10, "samples": done * 128, "seconds": 65.3, "seconds_left": 146.9,
                     "samples_per_second": 1184.2, "mfu": 0.382, "operations_per_second": 90.2e9, "step_seconds": 64.2, "evaluation_seconds": 0.8, "checkpoint_seconds": 0.3, "loss": 0.7312, "accuracy": 0.7421, "test_loss": 0.8123, "test_accuracy": 0.7154, "lr": 0.0912,
                     "gradient_norm": 1.31, "loss_scale": None, "skipped_steps": 0, "overlap_ratio": 0.81, "data_wait_ratio": 0.012,
                     "unreadable_samples": 0, "parameters_sha256": None},
        "steps": columns, "epochs": epochs(done // 195),
        "step_seconds": {"low": 0.098, "high": 0.142, "counts": [max(0, round(60 * math.exp(-((i - 8) ** 2) / 30)) + (i % 3 if i < 30 else 0)) for i in range(40)],
                         "median": 0.1071, "p95": 0.121, "max": 0.1418},
        "workers": [worker(0), worker(1)], "nodes": nodes(), "leads": True, "generation": 1, "recoveries": [], "generated": [], "actors": actors(), "timeline": timeline(),
        "checkpoints": {"written": 3, "failures": 0, "last_step": 585, "last_seconds": 0.21, "last_bytes": 3 * MIB + 200 * KIB,
                        "last_time": "2026-11-24T04:49:12Z", "path": "runs/resnet20-ddp/checkpoints/step-585"},
        "log": log(), "config": "run:\n  name: resnet20-ddp\nmodel:\n  name: resnet20\n",
    }  # fmt: skip
    return document | changes


def waiting():
    """A daemon without a job."""
    return run(status="waiting", run={}, progress={}, steps={"from": 0, "per_point": 1} | {name: [] for name in COLUMNS}, epochs=[],
               step_seconds=None, workers=[], nodes=nodes()[:1], actors=actors()[3:], timeline=None,
               checkpoints={"written": 0, "failures": 0}, log=log(6)[:3], config="")  # fmt: skip


def curves(factor):
    """Of 40 points, as columns."""
    steps = [index * 10 for index in range(40)]
    return {"per_point": 10, "step": steps, "loss": [factor * (0.4 + 2 * math.exp(-step / 90)) for step in steps],
            "accuracy": [0.9 - 0.8 * math.exp(-step / 110) for step in steps], "test_step": [194, 389], "test_loss": [0.9 * factor, 0.7 * factor],
            "test_accuracy": [0.6 / factor, 0.72 / factor]}  # fmt: skip


def comparison():
    def row(strategy, precision, factor, **changes):
        return {"name": None, "job": "resnet20 on cifar10", "strategy": strategy, "precision": precision, "problem": None, "workers": 2, "seconds": 85.2 * factor, "samples_per_second": 1184.0 / factor,
                "peak_memory_bytes": int(1.3 * GIB * (2 - factor)), "busy_ratio": 0.91, "overlap_ratio": 0.81 - 0.1 * factor, "loss": 0.62 + 0.01 * factor,
                "tokens_per_second": None, "accuracy": 0.722 - 0.004 * factor, "perplexity": None, "report": f"{strategy}-{precision}/report.html", "log": f"{strategy}-{precision}.log", "curves": curves(factor)} | changes  # fmt: skip

    return {"kind": "comparison", "live": False, "made": "2026-11-24T04:50:07Z", "title": "resnet20 on cifar10",
            "machine": {"host": "alpha", "processor": "Xeon", "cores": 8, "instruction_set": "avx512", "memory_bytes": 32 * GIB, "gpus": []}, "version": "0.1.0",
            "runs": [row("single", "fp32", 1.6, workers=1, overlap_ratio=None), row("ddp", "fp32", 1.0), row("zero1", "fp32", 1.04), row("zero3", "fp32", 1.2),
                     row("ddp", "tf32", 1, problem="precision.mode: tf32 requires a CUDA device; allowed here: fp32, amp_bf16, amp_fp16",
                         seconds=None, samples_per_second=None, peak_memory_bytes=None, accuracy=None, loss=None, report=None, curves=None)]}  # fmt: skip


def compared_runs():
    """Runs that were there before, one of which was stopped; without links, of whatever machines."""
    document = comparison()
    runs = [run | {"name": name, "report": None, "log": None} for run, name in zip(document["runs"][:3], ("one", "two", "three (stopped)"), strict=True)]
    return document | {"machine": None, "runs": runs}


def follower():
    """A node that does not lead, at its third of four ranks."""
    return run(leads=False, progress={"steps": 200, "epoch": 1, "epochs": 10, "samples": 0, "seconds": 0}, steps={"from": 0, "per_point": 1} | {name: [] for name in COLUMNS},
               epochs=[], step_seconds=None, workers=[worker(1)])  # fmt: skip


def language_comparison():
    """Two runs on texts, of 256 tokens a sample, and one on images."""
    document = comparison()
    texts, others = document["runs"][1:3], document["runs"][3:4]
    for run, perplexity in zip(texts, (6.117, 6.42), strict=True):
        run |= {"tokens_per_second": 256 * run["samples_per_second"], "perplexity": perplexity, "accuracy": None}
    return document | {"runs": texts + others}
