#!/usr/bin/env python3
"""Records tokenizer.json: two small byte-level BPE vocabularies, and the ids of tricky lines, for
tests/data/tokenizer_golden_test.cpp.

Usage: record_tokenizer.py > tokenizer.json    (made with Python 3.11, whose Unicode is 14)

It computes as GPT-2's encoder.py does: the expression of the split by `re` (whose classes are
written out from unicodedata), then again and again the pair of the lowest rank, wherever it is in
the word. Vocabularies come from the lines themselves, as Sennrich et al. (2016) learn them: the most
frequent pair becomes a token, of equal ones the first in the order of their bytes.
"""
import collections
import json
import re
import sys
import unicodedata

from byte_characters import CHARACTERS, written

MERGES = 240


def character_class(wanted):
    """The ranges of a class of `re` with the code points that are wanted."""
    ranges, begin = [], None
    for code in range(0x110001):
        inside = code < 0x110000 and wanted(code)
        if inside and begin is None:
            begin = code
        if not inside and begin is not None:
            ranges.append(f"\\U{begin:08x}-\\U{code - 1:08x}")
            begin = None
    return "".join(ranges)


WHITE_SPACE = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
               0x205F, 0x3000}
L = character_class(lambda code: unicodedata.category(chr(code)).startswith("L"))
N = character_class(lambda code: unicodedata.category(chr(code)).startswith("N"))
S = character_class(lambda code: code in WHITE_SPACE)

SPLITS = {
    "gpt2": rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{L}]+| ?[{N}]+| ?[^{S}{L}{N}]+|[{S}]+(?![^{S}])|[{S}]+",
    "cl100k": rf"'(?:[sdmtSDMT\u017f]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n{L}{N}]?[{L}]+|[{N}]{{1,3}}"
              rf"| ?[^{S}{L}{N}]+[\r\n]*|[{S}]*[\r\n]+|[{S}]+(?![^{S}])|[{S}]+",
}

LINES = [
    "Hello world, hello  world;   hello\tworld!",
    "It's we'll they're I'VE don'T he'D 'tis ''s x'\u017f",
    "1 22 333 4444 55555 666666 \u00bd \u0663\u0664 \u2167 a1b2 3.14",
    "  leading, trailing  ",
    "\n\n  def f(x):\n\t\treturn x  # two\n\n\n",
    "line\r\nline\r\n\r\n  \r\n end \n",
    "\u00e4\u00f6\u00fc \u00df na\u00efve caf\u00e9 cafe\u0301 \u0130stanbul",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u05e9\u05dc\u05d5\u05dd "
    "\u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u4f60\u597d\u4e16\u754c\u3002\u3053\u3093\u306b\u3061\u306f \uc548\ub155\ud558\uc138\uc694\u3000\u7d42",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\u2764\ufe0f\u2728",
    "a\u00a0b\u2003c\u2028d\u200be\u0085f\ufeffg\u180eh\x1ci",
    "!?.,;:'\"()[]{}<>@#$%^&*-_=+|\\/~`   ...---===",
    "https://a.example/?q=1&r=2#x user@example.org C++20 <|endoftext|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbb",
    " ", "\n", "\u3000", "'", " '", "' ", "x", "\u00e9",
    "     x", " \n x", "x \n", "x\n \n", "\t\tx\n\n\ny",
    "\u0000\u0001\u007f\u009f", "it's\u2019s 'S'l 'lL'v 've\n",
]


def merged(word, pair):
    """The word with the pair as one token, wherever it is, from the left."""
    result, i = [], 0
    while i < len(word):
        if tuple(word[i:i + 2]) == pair:
            result.append(pair[0] + pair[1])
            i += 2
        else:
            result.append(word[i])
            i += 1
    return result


def words_of(split, line):
    words = re.findall(SPLITS[split], line)
    assert "".join(words) == line, line
    return [[bytes([byte]) for byte in word.encode()] for word in words]


def learn(split):
    words = [word for line in LINES for word in words_of(split, line)]
    merges = []
    while len(merges) < MERGES:
        counts = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        best = max(counts, key=lambda pair: (counts[pair], [-byte for byte in pair[0] + pair[1]]))
        words = [merged(word, best) for word in words]
        merges.append(best)
    return merges


def encode(split, merges, ids, line):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    result = []
    for word in words_of(split, line):
        while pairs := [pair for pair in zip(word, word[1:]) if pair in ranks]:
            word = merged(word, min(pairs, key=ranks.__getitem__))
        result += [ids[token] for token in word]
    return result


def record(split):
    merges = learn(split)
    tokens = list(dict.fromkeys([bytes([byte]) for byte in CHARACTERS] + [a + b for a, b in merges]))
    ids = {token: i for i, token in enumerate(tokens)}
    return {"vocab": {written(token): i for token, i in ids.items()},
            "merges": [f"{written(a)} {written(b)}" for a, b in merges],
            "ids": [encode(split, merges, ids, line) for line in LINES]}


json.dump({"lines": LINES, **{split: record(split) for split in SPLITS}}, sys.stdout, separators=(",", ":"))
print()
