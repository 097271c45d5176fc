"""The layers of torchvision's ResNet-50, as far as kernels are counted: He et al. 2015, with the stride in
the 3x3 convolution."""

from dataclasses import dataclass, field

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4


@dataclass
class Layer:
    """Kernels are counted for each layer of a kind; it has a name for the elements of each of its tensors."""

    kinds: tuple
    elements: dict
    operations: float = 0


@dataclass
class Network:
    """Adds layers, and knows what each reads."""

    batch: int
    size: int
    classes: int
    layers: list = field(default_factory=list)
    parameters: list = field(default_factory=list)

    def convolution(self, channels, size, out, kernel, stride, *kinds):
        """With the batch norm behind it. Returns the size of its result."""
        after = size // stride
        x, y = self.batch * size**2 * channels, self.batch * after**2 * out
        w = out * channels * kernel**2
        self.layers.append(
            Layer(("convolution", *kinds), {"x": x, "y": y, "w": w}, 2 * self.batch * after**2 * w)
        )
        self.layers.append(Layer(("batch norm", *kinds), {"x": y, "c": out}))
        self.parameters += [w, out, out]
        return after

    def block(self, channels, size, width, stride, first):
        out = EXPANSION * width
        self.convolution(channels, size, width, 1, 1, "data gradient", "inner")
        after = self.convolution(width, size, width, 3, stride, "data gradient", "inner")
        self.convolution(width, after, out, 1, 1, "data gradient", "last")
        if first:
            self.convolution(channels, size, out, 1, stride, "data gradient", "shortcut")
        kind = "block with a projection" if first else "block with an identity"
        x, y = self.batch * size**2 * channels, self.batch * after**2 * out
        self.layers.append(Layer(("block", kind), {"x": x, "y": y, "c": out}))
        return out, after

    def build(self):
        self.layers.append(Layer(("images",), {"x": self.batch * self.size**2 * 3}))
        size = self.convolution(3, self.size, 64, 7, 2, "stem", "inner")
        pooled = size // 2
        self.layers.append(
            Layer(("max pooling",), {"x": self.batch * size**2 * 64, "y": self.batch * pooled**2 * 64})
        )
        channels, size = 64, pooled
        for width, blocks, stride in STAGES:
            for i in range(blocks):
                channels, size = self.block(channels, size, width, stride if i == 0 else 1, i == 0)
        self.head(channels, size)
        return self.layers

    def head(self, channels, size):
        x, logits, w = self.batch * channels, self.batch * self.classes, self.classes * channels
        self.layers.append(Layer(("average pooling",), {"x": x * size**2, "y": x}))
        self.layers.append(
            Layer(("linear",), {"x": x, "w": w, "b": self.classes, "y": logits}, 2 * self.batch * w)
        )
        self.layers.append(Layer(("loss",), {"logits": logits, "labels": self.batch, "one": 1}))
        self.parameters += [w, self.classes]
        self.layers.append(Layer(("step",), {"p": sum(self.parameters), "one": 1}))


def layers(batch, size, classes):
    return Network(batch, size, classes).build()
