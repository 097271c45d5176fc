"""The measured steps, in the order of importance, and the goals."""

import dataclasses
from dataclasses import dataclass

# PyTorch's ways to run a step; "eager" (channels_last) is the one that ratios are named after.
EAGER = ("eager", "fused")  # as it is; with the fused optimizer
COMPILED = ("compile",)  # torch.compile(mode="max-autotune"), CUDA graphs, fused optimizer
INSTEAD = {"compile": "graphs"}  # where it fails: without the tuning, which takes minutes
IMAGES, TOKENS = "images_per_second", "tokens_per_second"  # as our program and its peer call them


@dataclass(frozen=True)
class Case:
    """A training step on random images in the device's memory."""

    model: str
    size: int
    batch: int
    precision: str
    channels: int = 3

    rate = IMAGES

    @property
    def name(self):
        return f"{self.model}-{self.size}-b{self.batch}-{self.precision}"

    @property
    def options(self):
        classes = 1000 if self.size > 64 and self.channels == 3 else 10
        return as_options(dict(self.__dict__, classes=classes))

    def tiny(self):
        return dataclasses.replace(self, model="resnet18", size=8, batch=4)


@dataclass(frozen=True)
class LanguageCase:
    """A training step on sequences of random tokens in the device's memory."""

    model: str
    sequence: int
    batch: int
    precision: str
    vocabulary: int = 50304

    rate = TOKENS

    @property
    def name(self):
        return f"{self.model}-{self.sequence}-b{self.batch}-{self.precision}"

    @property
    def options(self):
        return as_options(self.__dict__)

    def tiny(self):
        return dataclasses.replace(self, model="gpt2-mini", sequence=16, batch=2, vocabulary=64)


def as_options(values):
    return [word for key, value in values.items() for word in (f"--{key}", str(value))]


TRACE = "trace"  # of AMP, kernel by kernel

AMP = Case("resnet50", 224, 128, "amp_fp16")
TF32 = Case("resnet50", 224, 128, "tf32")
FP32 = Case("resnet50", 224, 128, "fp32")
AMP_256 = Case("resnet50", 224, 256, "amp_fp16")
BF16, AMP_BF16, FP16 = (Case("resnet50", 224, 128, name) for name in ("bf16", "amp_bf16", "fp16"))
CIFAR = Case("resnet18", 32, 512, "amp_fp16")
SMALL = Case("resnet18", 32, 64, "amp_fp16")  # few plans: the shortest way through all of a start
MNIST = Case("resnet101", 224, 128, "amp_fp16", channels=1)
GPT2 = LanguageCase("gpt2", 1024, 8, "amp_bf16")

# A sitting: rounds in which we and these variants take turns. What compiles comes in a sitting of its
# own, so that a compiler that takes too long costs no other figure.
SITTINGS = [
    (AMP, EAGER),
    (AMP, COMPILED),
    (GPT2, EAGER),
    (GPT2, COMPILED),
    (TF32, EAGER),
    (FP32, EAGER),
    (AMP_256, EAGER),
    (CIFAR, EAGER),
    (CIFAR, COMPILED),
    (AMP_256, COMPILED),
    *((case, EAGER) for case in (AMP_BF16, FP16, BF16)),
    (MNIST, EAGER),
    (AMP_BF16, COMPILED),
    (TF32, COMPILED),
    (FP32, COMPILED),
    *((Case("resnet50", 224, 256, precision), EAGER) for precision in ("tf32", "fp32", "amp_bf16")),
]


@dataclass(frozen=True)
class Training:
    """CIFAR-10 at 224, end to end, from the files to the accuracy."""

    precision: str
    peers: tuple  # where PyTorch resizes: in its workers, or on the GPU
    known: str  # what is published, for the table

    @property
    def name(self):
        return f"epochs-{self.precision}"


TRAININGS = [
    Training("amp_fp16", ("workers", "gpu"), "P40: 1546 s, 6.02 GB, about 85%"),
    Training("fp32", ("workers",), "P40: 1979 s, 11.24 GB, about 85%"),
]

# (what, row, figure, at least or at most, value)
GOALS = [
    ("AMP fp16, against PyTorch eager", AMP.name, "ratio_eager", ">=", 2.0),
    ("AMP fp16, against PyTorch's best row", AMP.name, "ratio_best", ">=", 1.3),
    ("AMP fp16, images/s", AMP.name, IMAGES, ">=", 8000),
    ("tf32, against PyTorch eager", TF32.name, "ratio_eager", ">=", 1.2),
    ("fp32, against PyTorch eager", FP32.name, "ratio_eager", ">=", 1.2),
    ("AMP fp16, peak memory against PyTorch eager", AMP.name, "memory_ratio", "<=", 0.85),
    ("fp32, peak memory against PyTorch eager", FP32.name, "memory_ratio", "<=", 0.85),
    ("GPU idle in a step", TRACE, "idle_ratio", "<=", 0.02),
    ("share of the roofline, step", TRACE, "share_of_bound", ">=", 0.6),
    ("CPU time per step, µs", AMP.name, "cpu_us_per_step", "<=", 100),
    ("ResNet-18 at 32, against PyTorch compile", CIFAR.name, "ratio_compile", ">=", 2.0),
    ("5 epochs of CIFAR-10 at 224, s", TRAININGS[0].name, "seconds_of_5", "<=", 45),
    ("5 epochs, against PyTorch with 16 workers", TRAININGS[0].name, "ratio_workers", ">=", 2.5),
]
