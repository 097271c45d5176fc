"""What PyTorch has for each precision.mode."""
import torch

TYPES = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
HALVES = ("fp16", "bf16", "amp_fp16", "amp_bf16")
SCALE = 1024.0  # of amp_fp16's loss


class PrecisionMode:
    """The types of a mode, and the scale of its loss."""

    def __init__(self, name):
        self.amp = name.startswith("amp_")
        self.type = TYPES[name.removeprefix("amp_")]
        self.stored = torch.float32 if self.amp else self.type
        self.scale = SCALE if name == "amp_fp16" else 1.0

    def autocast(self):
        return torch.autocast("cpu", self.type, enabled=self.amp)

    def backward(self, loss, model):
        (loss * self.scale).backward()
        for p in model.parameters():
            p.grad /= self.scale
