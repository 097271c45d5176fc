"""The layers of GPT-2 as its kernels are counted (Radford et al. 2019): its head shares its weight with the
embedding."""

from counting.language import LanguageModel


class Gpt2(LanguageModel):
    def block(self, first):
        width = self.width
        self.norm("block norm", "first norm" if first else "inner norm")
        self.linear("qkv", inputs=width, outputs=3 * width)
        self.attention(qkv=3 * self.rows * width)
        self.linear("attention output", inputs=width, outputs=width)
        self.norm("block norm", "inner norm")
        self.linear("mlp input", inputs=width, outputs=4 * width)
        self.add("gelu", x=self.rows * 4 * width)
        self.linear("mlp output", inputs=4 * width, outputs=width)

    def parameters(self, blocks):
        """Elements of each parameter."""
        width = self.width
        shapes = ((1, 3), (1, 1), (1, 4), (4, 1))  # inputs and outputs, in widths
        linear = [size for x, y in shapes for size in (x * y * width**2, y * width)]
        norm = [width, width]
        return [self.table, self.sequence * width, *blocks * (2 * norm + linear), *norm]

    def build(self, blocks):
        rows, width = self.rows, self.width
        self.add("embedding", x=rows * width, w=self.table, positions=self.sequence * width, ids=rows)
        for i in range(blocks):
            self.block(i == 0)
        self.norm("inner norm", "last norm")
        self.head()
        self.update(self.parameters(blocks))
        return self.layers


def layers(language, slices):
    return Gpt2(language, slices).build(language["layers"])
