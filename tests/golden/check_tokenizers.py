#!/usr/bin/env python3
"""Compares troupe's tokens with those of Hugging Face's tokenizers, token for token.

Usage: check_tokenizers.py TROUPE [TOKENIZER ...] [--text FILE ...]. Needs Python's tokenizers.

TOKENIZER is a folder with vocab.json and merges.txt, as tools/fetch-data gpt2-tokenizer writes it, a tokenizer.json, or
cl100k_base.tiktoken, p50k_base.tiktoken or r50k_base.tiktoken. Besides, tokenizers learns one of GPT-2's form and three of Llama 3's.

The text is more than 1 MB of prose and code of this tree, words of 31 scripts, emoji, control characters, long runs and what
expressions cut in a special way; FILEs are read behind it. Of other scripts' characters it has those that Unicode 3.2 had: programs
know different ones of the newer.
"""
import argparse
import base64
import pathlib
import random
import subprocess
import tempfile
import unicodedata

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from byte_characters import written

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
NEWER = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
SPLITS = {"cl100k_base": CL100K, "p50k_base": GPT2, "r50k_base": GPT2}
SCRIPTS = [  # first and last character
    (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x587), (0x5D0, 0x5EA), (0x600, 0x6FF), (0x710, 0x74F),
    (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FF), (0xA00, 0xA7F), (0xA80, 0xAFF), (0xB00, 0xB7F), (0xB80, 0xBFF), (0xC00, 0xC7F),
    (0xC80, 0xCFF), (0xD00, 0xD7F), (0xD80, 0xDFF), (0xE00, 0xE7F), (0xE80, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x10A0, 0x10FF),
    (0x1200, 0x137F), (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1820, 0x18AA), (0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
]  # fmt: skip
# Combining marks, arrows and signs, ASCII, digits, control characters, spaces of all kinds, letters of mathematics.
OTHERS = [(0x300, 0x36F), (0x2190, 0x27BF), (0x20, 0x7E), (0x30, 0x39), (0x660, 0x669), (0x2150, 0x2188), (0x0, 0x1F), (0x7F, 0xA0),
          (0x2000, 0x206F), (0x1D400, 0x1D7FF)]
EMOJI = [*map(chr, range(0x1F300, 0x1F650)), "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea"]
SPACES = [" ", " ", " ", "  ", "\n", "\r\n", "\t", "\n\n", "\u00a0", "\u3000", "   ", " \n ", "\r", "\u2028"]
SPECIAL = ["it's", "IT'S", "we'Ll", "x'\u017f", "'", "''re", "don't", " 'd", "<|endoftext|>", "<|begin|>", "<|end|>", "<|beg", "1234567",
           "3.14e-10", "a_b", "C++20", "\ufeff", "\ufffd", "x\u0301\u0302", "...!?\n\n", "\u00b2\u00bd\u2167"]  # fmt: skip
RUNS = [" ", "\n", "\t", "0", "7", "a", "-", "=", "\u00e9", "\u4e00", "\U0001f600", "\r\n", "ab", " \n", "\u00a0", "\x00"]


def characters(first, last):
    known = unicodedata.ucd_3_2_0
    return [chr(code) for code in range(first, last + 1) if known.category(chr(code)) not in ("Cn", "Cs")]


def drawn_words(draw, alphabet, count=1500):
    for _ in range(count):
        yield "".join(draw.choices(alphabet, k=draw.randint(1, 12))) + draw.choice(SPACES)


def mixed_text():
    draw = random.Random(1)
    parts = [path.read_text() for pattern in ("docs/**/*.md", "nn/**/*.cpp") for path in sorted(ROOT.glob(pattern))]
    for alphabet in [characters(*script) for script in SCRIPTS + OTHERS] + [EMOJI, SPECIAL]:
        parts += drawn_words(draw, alphabet)
    for _ in range(400):
        parts += [draw.choice(RUNS) * draw.choice([1, 2, 3, 4, 7, 15, 16, 17, 100, 999]), draw.choice(["", "x", " ", "1", "\n"])]
    return "".join(parts)


def learned(text, split, **options):
    """A tokenizer of this text, with the special tokens that a text may have, too."""
    made = tokenizers.Tokenizer(models.BPE(**options))
    made.decoder = decoders.ByteLevel()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if split != GPT2:
        made.pre_tokenizer = split_by(split)
    made.train_from_iterator(text.splitlines(keepends=True), trainers.BpeTrainer(
        vocab_size=8000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|begin|>", "<|end|>", "<|endoftext|>"]))
    return made


def split_by(expression):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(expression), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def of_ranks(path):
    """tiktoken's ranks as transformers makes BPE of them: any two tokens that are a third one together may become it, in the order of
    its rank, and of the ranks of the two."""
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, filter(None, path.read_bytes().splitlines()))}
    merges = []
    for token, rank in ranks.items():
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        merges += sorted((rank, ranks[a], ranks[b], written(a), written(b)) for a, b in cuts if a in ranks and b in ranks)
    merges.sort(key=lambda merge: merge[0])
    made = tokenizers.Tokenizer(models.BPE({written(token): rank for token, rank in ranks.items()},
                                           [merge[3:] for merge in merges], ignore_merges=True))
    made.pre_tokenizer = split_by(SPLITS[path.stem])
    return made


def of_path(path):
    if path.is_dir():
        return tokenizers.ByteLevelBPETokenizer(str(path / "vocab.json"), str(path / "merges.txt"))
    return of_ranks(path) if path.suffix == ".tiktoken" else tokenizers.Tokenizer.from_file(str(path))


def ours(troupe, tokenizer, path):
    words = [troupe, "tokenize", "--ids", "--tokenizer", tokenizer, path]
    printed = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [int(word) for word in printed.split()][:-1]  # the end of the document


class Check:
    def __init__(self, troupe, text, folder):
        self.troupe, self.text, self.folder, self.path = troupe, text, folder, folder / "text"
        self.path.write_bytes(text.encode())
        print(f"{self.path.stat().st_size} bytes, tokenizers {tokenizers.__version__}")

    def compare(self, name, path, theirs):
        mine, found = ours(self.troupe, path, self.path), theirs.encode(self.text, add_special_tokens=False)
        place = next((i for i, pair in enumerate(zip(mine, found.ids)) if pair[0] != pair[1]), min(len(mine), len(found.ids)))
        if mine != found.ids:
            at = found.offsets[min(place, len(found.ids) - 1)][0]
            raise SystemExit(f"{name}: token {place} is {mine[place:place + 5]} here and {found.ids[place:place + 5]} there, of "
                             f"{self.text[max(0, at - 20):at + 20]!r}")
        print(f"{name}: {len(mine)} tokens are the same", flush=True)

    def compare_saved(self, name, theirs):
        path = self.folder / "tokenizer.json"
        theirs.save(str(path))
        self.compare(name, path, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("troupe")
    parser.add_argument("tokenizers", nargs="*", type=pathlib.Path)
    parser.add_argument("--text", action="append", default=[], type=pathlib.Path)
    arguments = parser.parse_args()
    text = mixed_text() + "".join(path.read_text() for path in arguments.text)
    with tempfile.TemporaryDirectory() as scratch:
        check = Check(arguments.troupe, text, pathlib.Path(scratch))
        for path in arguments.tokenizers:
            theirs = of_path(path)
            check.compare(path.name, path, theirs)
            check.compare_saved(f"{path.name} as tokenizer.json", theirs)
        check.compare_saved("GPT-2's form, learned", learned(text, GPT2))
        check.compare_saved("Llama 3's form, learned", learned(text, CL100K))
        check.compare_saved("cl100k's newer form, learned", learned(text, NEWER))
        check.compare_saved("Llama 3's form, learned, whole words first", learned(text, CL100K, ignore_merges=True))


if __name__ == "__main__":
    main()
