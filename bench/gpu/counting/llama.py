"""The layers of LLaMA as its kernels are counted (Touvron et al. 2023): heads of queries may share keys and values
(Ainslie et al. 2023), and the head has a weight of its own."""

from counting.language import LanguageModel


class Llama(LanguageModel):
    def __init__(self, language, slices):
        super().__init__(language, slices)
        self.hidden = language["hidden"]
        self.head_width = self.width // self.heads
        self.kv_width = language["kv_heads"] * self.head_width

    def block(self, first):
        rows, width, kv_width, hidden = self.rows, self.width, self.kv_width, self.hidden
        q, k = rows * width, rows * kv_width
        self.norm("attention norm", "first norm" if first else "inner norm")
        for outputs in (width, kv_width, kv_width):
            self.linear(inputs=width, outputs=outputs)
        self.add("rope", q=q, k=k, angles=self.sequence * self.head_width)
        self.attention(q=q, k=k, v=k)
        self.linear(inputs=width, outputs=width)
        self.norm("mlp norm", "inner norm")
        for _ in ("gate", "up"):
            self.linear(inputs=width, outputs=hidden)
        self.add("swiglu", x=rows * hidden)
        self.linear(inputs=hidden, outputs=width)

    def parameters(self, blocks):
        """Elements of each parameter."""
        width, kv_width, hidden = self.width, self.kv_width, self.hidden
        attention = [width * width, width * kv_width, width * kv_width, width * width]
        return [self.table, *blocks * [width, *attention, width, *3 * [width * hidden]], width, self.table]

    def build(self, blocks):
        self.add("embedding", x=self.rows * self.width, w=self.table, ids=self.rows)
        for i in range(blocks):
            self.block(i == 0)
        self.norm("inner norm", "last norm")
        self.head()
        self.update(self.parameters(blocks))
        return self.layers


def layers(language, slices):
    return Llama(language, slices).build(language["layers"])
