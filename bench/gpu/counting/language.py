"""What the layers of all language models have in common, as their kernels are counted: a step of several slices."""

from counting.layers import Layer


class LanguageModel:
    """`language`: the shape that bench_gpu_count prints."""

    def __init__(self, language, slices):
        self.slices = slices
        self.rows = language["tokens"] // slices
        self.sequence, self.width = language["sequence"], language["width"]
        self.heads, self.vocabulary = language["heads"], language["vocabulary"]
        self.table = self.vocabulary * self.width
        self.layers = []

    def add(self, *kinds, operations=0, times=None, **elements):
        self.layers.append(Layer(kinds, elements, operations, times=self.slices if times is None else times))

    def linear(self, *kinds, inputs, outputs):
        rows = self.rows
        self.add(
            "linear",
            *kinds,
            operations=2 * rows * inputs * outputs,
            x=rows * inputs,
            y=rows * outputs,
            w=inputs * outputs,
            b=outputs,
        )

    def norm(self, *kinds):
        self.add("norm", *kinds, x=self.rows * self.width, rows=self.rows, c=self.width)

    def attention(self, **elements):
        """Each product covers the causal half of all pairs of rows."""
        y = self.rows * self.width
        self.add("attention", operations=y * self.sequence, y=y, rows=self.rows * self.heads, **elements)

    def head(self):
        rows = self.rows
        logits, operations = rows * self.vocabulary, 2 * rows * self.table
        self.add("head", operations=operations, x=rows * self.width, w=self.table, logits=logits, rows=rows)

    def update(self, parameters):
        """`parameters`: elements of each."""
        for elements in parameters:
            self.add("later slice", p=elements, times=self.slices - 1)
        self.add("step", p=sum(parameters), times=1)
