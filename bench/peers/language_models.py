"""GPT-2 for the peers of our language models: transformers', and the same in plain PyTorch.

Sizes are those of nn/models/gpt2.cpp: blocks, width, heads. There is no dropout.
"""
import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"gpt2-mini": (6, 384, 6), "gpt2": (12, 768, 12), "gpt2-medium": (24, 1024, 16)}


def transformers_gpt2(layers, width, heads, vocabulary, positions):
    """As it comes: attention is PyTorch's (SDPA), products are Conv1D with weights (in, out)."""
    import transformers

    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=vocabulary,
            n_positions=positions,
            n_embd=width,
            n_layer=layers,
            n_head=heads,
            attn_pdrop=0,
            embd_pdrop=0,
            resid_pdrop=0,
            use_cache=False,
            bos_token_id=vocabulary - 1,
            eos_token_id=vocabulary - 1,
            attn_implementation="sdpa",
        )
    )


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class PlainGpt2(nn.Module):
    """Weights are (out, in), and the activation is one op."""

    def __init__(self, layers, width, heads, vocabulary, positions):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def logits_of(model, tokens):
    found = model(tokens)
    return found if torch.is_tensor(found) else found.logits


def mean_loss(model, tokens, targets):
    logits = logits_of(model, tokens)
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def adamw(model, lr, betas, weight_decay, fused=True, **options):
    """Matrices and tables decay, what has one dimension does not."""
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=fused, **options)
