"""The layers of torchvision's ResNet-50, as far as kernels are counted: He et al. 2015, with the stride in
the 3x3 convolution."""

from dataclasses import dataclass, field

from counting.layers import Layer

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4

# torch/_inductor/config.py, realize_reads_threshold: what is made of more tensors than that is written.
MOST_READS = 4


def add_compiled_gradients(blocks):
    """What torch.compile's kernels read for the gradient behind a block's last ReLU, from the last block to the
    first: the results of ReLUs, whose signs are the masks, and the gradients that convolutions made. A block
    with an identity behind it takes all that the gradient there is made of, until that is so much that it is
    written, in fp32. Types by their bytes: of the last block's mask one, and an average that is next to nothing.
    """
    behind, projects = [1, 0], True
    for block in reversed(blocks):
        if block is not blocks[-1]:
            behind = [2, 2, 2] if projects else [2, *behind, 2]
        block.bytes["gradient"] = sum(behind) * block.elements["y"]
        if len(behind) > MOST_READS:
            block.kinds += ("block whose gradient is written",)
            behind = [4]
        block.bytes["masked gradient"] = sum(behind) * block.elements["y"]
        projects = "block with a projection" in block.kinds


@dataclass
class Network:
    """Adds layers, and knows what each reads."""

    batch: int
    size: int
    classes: int
    layers: list = field(default_factory=list)
    parameters: list = field(default_factory=list)

    def convolution(self, channels, size, out, kernel, stride, role):
        """With the batch norm behind it, inner where a ReLU follows. Returns the size of its result."""
        after = size // stride
        x, y = self.batch * size**2 * channels, self.batch * after**2 * out
        w = out * channels * kernel**2
        kinds = ("convolution",) if channels == 3 else ("convolution", "data gradient convolution")
        self.layers.append(Layer(kinds, {"x": x, "y": y, "w": w}, 2 * self.batch * after**2 * w))
        self.layers.append(Layer(("batch norm", f"{role} batch norm"), {"x": y, "c": out}))
        self.parameters += [w, out, out]
        return after

    def block(self, channels, size, width, stride, first):
        out = EXPANSION * width
        self.convolution(channels, size, width, 1, 1, "inner")
        after = self.convolution(width, size, width, 3, stride, "inner")
        self.convolution(width, after, out, 1, 1, "last")
        if first:
            self.convolution(channels, size, out, 1, stride, "shortcut")
        kind = "block with a projection" if first else "block with an identity"
        x, y = self.batch * size**2 * channels, self.batch * after**2 * out
        self.layers.append(Layer(("block", kind), {"x": x, "y": y, "c": out}))
        return out, after

    def build(self):
        self.layers.append(Layer(("images",), {"x": self.batch * self.size**2 * 3}))
        size = self.convolution(3, self.size, 64, 7, 2, "inner")
        pooled = size // 2
        self.layers.append(
            Layer(("max pooling",), {"x": self.batch * size**2 * 64, "y": self.batch * pooled**2 * 64})
        )
        channels, size = 64, pooled
        for width, blocks, stride in STAGES:
            for i in range(blocks):
                channels, size = self.block(channels, size, width, stride if i == 0 else 1, i == 0)
        add_compiled_gradients([layer for layer in self.layers if "block" in layer.kinds])
        self.head(channels, size)
        return self.layers

    def head(self, channels, size):
        x, logits, w = self.batch * channels, self.batch * self.classes, self.classes * channels
        self.layers.append(Layer(("average pooling",), {"x": x * size**2, "y": x}))
        self.layers.append(
            Layer(("linear",), {"x": x, "w": w, "b": self.classes, "y": logits}, 2 * self.batch * w)
        )
        self.layers.append(Layer(("loss",), {"logits": logits, "labels": self.batch}))
        self.parameters += [w, self.classes]
        self.layers.append(Layer(("step",), {"p": sum(self.parameters)}))


def layers(batch, size, classes):
    return Network(batch, size, classes).build()
