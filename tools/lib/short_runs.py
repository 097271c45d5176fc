"""The short runs by which tools/same-bits compares two programs: each has a name, and settings added to tests/system/small.yaml."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "tests/system/small.yaml"
FASHION_MNIST = ROOT / "datasets/fashion-mnist"

COMMON = "data.batch_size=12 data.limit=60 train.max_steps=6 train.evaluate_every=1"
CUDA = "devices.kind=cuda run.deterministic=true train.max_steps=4 train.optimizer.lr=0.01"
PRECISIONS = ("fp32", "fp16", "bf16", "amp_fp16", "amp_bf16")
ADAM = "train.optimizer.name=adam train.optimizer.momentum.nesterov=false train.optimizer.lr=0.001"
OFFLOADED = {
    "single": "optimizer",
    "ddp": "optimizer",
    "zero1": "{optimizer: 0.4}",
    "zero2": "optimizer",
    "fsdp": "parameters",
    "hsdp": "parameters",
}
OPTIMIZERS = {
    "plain sgd": "train.optimizer.momentum=0 train.optimizer.momentum.nesterov=false",
    "momentum": "train.optimizer.momentum.nesterov=false",
    "adam": ADAM,
    "adamw": f"{ADAM} train.optimizer.name=adamw train.optimizer.weight_decay=0.01",
}
MODELS = {
    "mlp": "model.name=mlp model.hidden=[64,32]",
    "linear": "model.name=linear",
    "resnet18, its ImageNet stem": "model.name=resnet18 model.stem=imagenet model.width=8 data.image_size=32",
    "resnet50": "model.name=resnet50 model.width=8",
    "squared error": "model.loss=mean_squared_error",
    "label smoothing": "train.label_smoothing=0.1",
}
CLIPPED = {
    "clip by norm": "train.clip_grad=0.5",
    "clip by value": "train.clip_grad.value=0.01",
    "clip, scaled loss that overflows": "train.clip_grad=0.5 precision.mode=amp_fp16 precision.loss_scale.initial=1e9",
}
SHARED = {
    "keeps what it gathered": "parallel.reshard_after_forward=false",
    "no prefetch": "parallel.prefetch=0",
    "wrap by size": "parallel.wrap={min_num_params: 30000}",
    "wrap by name": "parallel.wrap=[layer1, layer3.1]",
    "narrow": "parallel.mixed_precision={parameters: bf16, reduce: fp16, buffers: bf16}",
}


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    settings: tuple
    resumed: tuple = ()  # settings for resuming after three steps; none: the run is not resumed
    nodes: int = 1  # above 1: number of daemons
    isa: str = "best"  # TROUPE_ISA


def run(name, *settings, **more):
    """A run with these settings, each a text of KEY=VALUE words."""
    return Run(name, tuple(word for text in settings for word in words(text)), **more)


def words(text):
    """Splits a text into KEY=VALUE words; a value in braces or brackets may contain spaces."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        if letter == " " and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def together(strategy, count=None):
    """The settings of a strategy; for hsdp with two groups of two."""
    count = count or {"single": 1, "hsdp": 4}.get(strategy, 2)
    group = " parallel.shard_group=2" if strategy == "hsdp" else ""
    return f"parallel.strategy={strategy} devices.count={count}{group}"


def strategies_and_precisions():
    for strategy in ("single", "dp", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"):
        for precision in PRECISIONS:
            yield run(f"{strategy}, {precision}", together(strategy), f"precision.mode={precision}")
        yield run(f"{strategy}, mlp, adamw", together(strategy), MODELS["mlp"], OPTIMIZERS["adamw"])
        if strategy != "single":
            yield run(f"{strategy}, small buckets", together(strategy), "parallel.bucket_size=64KiB")


def memory():
    for strategy, offload in OFFLOADED.items():
        settings = (together(strategy), f"parallel.offload={offload}", ADAM)
        yield run(f"{strategy}, offload", *settings)
    for name, settings in SHARED.items():
        yield run(f"fsdp, {name}", together("fsdp", 3), settings)
    for fit in ("block", "[layer1.1, layer3.0]", "{fit: 480KiB}"):
        yield run(f"recompute {fit}", f"train.recompute={fit}")
    yield run("fsdp, recompute block", together("fsdp"), "train.recompute=block")


def arithmetic():
    for strategy in ("single", "ddp", "zero1", "zero2", "zero3", "hsdp"):
        batch = "data.batch_size=24 data.limit=120 train.accumulate=3"
        yield run(f"{strategy}, accumulate", together(strategy), batch)
        yield run(f"{strategy}, accumulate, no_sync off", together(strategy), batch, "parallel.no_sync=false")
    for strategy in ("single", "dp", "ddp", "zero3", "hsdp"):
        for name, settings in CLIPPED.items():
            yield run(f"{strategy}, {name}", together(strategy), settings)
    for strategy in ("ddp", "zero1", "zero3"):
        yield run(f"{strategy}, synchronized batch norm", together(strategy, 3), "model.sync_batch_norm=true")
    for name, settings in {**OPTIMIZERS, **MODELS}.items():
        yield run(name, settings)
    yield run("schedule in steps", "train.epochs=3 train.schedule={name: step, milestones: [1], gamma: 0.3}")


def processor():
    for isa in ("baseline", "avx2", "avx512"):
        for precision in PRECISIONS:
            yield run(f"{isa}, {precision}", f"precision.mode={precision}", isa=isa)
    yield run("interpreter", "devices.engine=interpreter train.max_steps=3")
    yield from threads()


def threads():
    """Work is divided by the number of threads, which does not divide a batch of 13."""
    for precision in PRECISIONS:
        yield run(f"two threads, {precision}", "devices.threads_per_worker=2 data.image_size=32", f"precision.mode={precision}")
    for isa in ("baseline", "avx2", "avx512"):
        yield run(f"two threads, {isa}", "devices.threads_per_worker=2 data.image_size=32", isa=isa)
    for name, settings in MODELS.items():
        yield run(f"two threads, {name}", "devices.threads_per_worker=2", settings)
    yield run("two threads, batch of 128", "devices.threads_per_worker=2 data.image_size=32 data.batch_size=128 data.limit=512")
    yield run("two threads, uneven batch", "devices.threads_per_worker=2 data.batch_size=13 data.limit=65")
    yield run("three threads", "devices.threads_per_worker=3 data.image_size=32")
    yield run("ddp, two threads", together("ddp"), "devices.threads_per_worker=2")


def resumed(strategies):
    for first, then in strategies:
        name = f"resumed: {first}" + (f", then {then}" if then != first else "")
        yield run(name, together(first, 4), resumed=tuple(words(together(then, 4))))
    yield run("resumed: amp_fp16, adam", "precision.mode=amp_fp16", ADAM, resumed=("train.epochs=5",))


def nodes():
    for strategy in ("ddp", "zero3"):
        settings = f"parallel.strategy={strategy} cluster.nodes=2"
        yield run(f"two nodes, {strategy}", settings, nodes=2)


def real_data():
    """Runs on Fashion-MNIST, if tools/fetch-data has fetched it."""
    if not FASHION_MNIST.exists():
        return
    data = f"data.dataset=fashion_mnist data.root={FASHION_MNIST} data.limit=96 model.in_channels=1 data.image_size=28"
    for name in ("single", "ddp", "zero3"):
        yield run(f"Fashion-MNIST, {name}", data, together(name), "data.batch_size=48")
        yield run(f"Fashion-MNIST, {name}, mlp", data, together(name), "data.batch_size=48", MODELS["mlp"])


def on_host():
    runs = [*strategies_and_precisions(), *memory(), *arithmetic(), *processor(), *nodes(), *real_data()]
    runs += resumed([("ddp", "ddp"), ("zero3", "zero3"), ("hsdp", "hsdp"), ("ddp", "zero2"), ("zero3", "dp")])
    return [dataclasses.replace(r, settings=(*words(COMMON), "devices.kind=cpu", *r.settings)) for r in runs]


def on_cuda():
    """Fewer runs: an emulated GPU is slow."""
    runs = [run(f"CUDA, {p}", f"precision.mode={p}") for p in (*PRECISIONS, "tf32")]
    for strategy in ("dp", "ddp", "zero1", "zero2", "zero3", "hsdp"):
        runs.append(run(f"CUDA, {strategy}", together(strategy)))
    runs += [
        run("CUDA, zero3, amp_fp16, adamw", together("zero3"), "precision.mode=amp_fp16", OPTIMIZERS["adamw"]),
        run("CUDA, ddp, clip by norm", together("ddp"), CLIPPED["clip by norm"]),
        run("CUDA, ddp, synchronized batch norm", together("ddp"), "model.sync_batch_norm=true"),
        run("CUDA, zero2, accumulate", together("zero2"), "train.accumulate=2"),
        run("CUDA, single, offload", "parallel.offload=optimizer"),
        run("CUDA, fsdp, offload", together("fsdp"), "parallel.offload=parameters"),
        run("CUDA, recompute block", "train.recompute=block"),
        run("CUDA, pixels of the host", "data.residency=host"),
        run("CUDA, basic fusion", "devices.fusion=basic"),
        run("CUDA, mlp", MODELS["mlp"]),
        run("CUDA, resnet50", MODELS["resnet50"]),
        run("CUDA, resumed: ddp, then zero3", together("ddp"), resumed=tuple(words(together("zero3")))),
    ]
    return [dataclasses.replace(r, settings=(*words(COMMON), *words(CUDA), *r.settings)) for r in runs]
