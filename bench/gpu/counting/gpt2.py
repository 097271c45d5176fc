"""The layers of GPT-2 as its kernels are counted (Radford et al. 2019): a step of several slices, whose head
shares its weight with the embedding."""

from counting.layers import Layer


class Network:
    """`language`: the shape that bench_gpu_count prints."""

    def __init__(self, language, slices):
        self.slices = slices
        self.rows = language["tokens"] // slices
        self.sequence, self.width = language["sequence"], language["width"]
        self.heads, self.vocabulary = language["heads"], language["vocabulary"]
        self.layers = []

    def add(self, *kinds, operations=0, times=None, **elements):
        self.layers.append(Layer(kinds, elements, operations, times=self.slices if times is None else times))

    def linear(self, name, inputs, outputs):
        self.add(
            "linear",
            name,
            operations=2 * self.rows * inputs * outputs,
            x=self.rows * inputs,
            y=self.rows * outputs,
            w=inputs * outputs,
            b=outputs,
        )

    def norm(self, *kinds):
        self.add("norm", *kinds, x=self.rows * self.width, rows=self.rows, c=self.width)

    def attention(self):
        """Each product covers the causal half of all pairs of rows."""
        y = self.rows * self.width
        self.add("attention", operations=y * self.sequence, y=y, qkv=3 * y, rows=self.rows * self.heads)

    def block(self, first):
        width = self.width
        self.norm("block norm", "first norm" if first else "inner norm")
        self.linear("qkv", width, 3 * width)
        self.attention()
        self.linear("attention output", width, width)
        self.norm("block norm", "inner norm")
        self.linear("mlp input", width, 4 * width)
        self.add("gelu", x=self.rows * 4 * width)
        self.linear("mlp output", 4 * width, width)

    def parameters(self, blocks):
        """Elements of each parameter."""
        width = self.width
        shapes = ((1, 3), (1, 1), (1, 4), (4, 1))  # inputs and outputs, in widths
        linear = [size for x, y in shapes for size in (x * y * width**2, y * width)]
        norm = [width, width]
        return [self.vocabulary * width, self.sequence * width, *blocks * (2 * norm + linear), *norm]

    def build(self, blocks):
        rows, width = self.rows, self.width
        table = self.vocabulary * width
        self.add("embedding", x=rows * width, w=table, positions=self.sequence * width, ids=rows)
        for i in range(blocks):
            self.block(i == 0)
        self.norm("inner norm", "last norm")
        logits = rows * self.vocabulary
        self.add("head", operations=2 * rows * table, x=rows * width, w=table, logits=logits, rows=rows)
        parameters = self.parameters(blocks)
        for elements in parameters:
            self.add("later slice", p=elements, times=self.slices - 1)
        self.add("step", p=sum(parameters), times=1)
        return self.layers


def layers(language, slices):
    return Network(language, slices).build(language["layers"])
