#!/usr/bin/env python3
"""Records csv.json: 300 generated CSV files with the values that pandas reads from them, and files that troupe
refuses, for tests/data/csv_golden_test.cpp.

Usage: record_csv.py > csv.json    (pandas; made with 3.1)
"""
import io
import json
import random
import struct
import sys

import pandas

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
WORDS = ["disk", '3.5" disk', 'the "b" key', "naïve", "Zürich", "x=1", "it's", "a:b", "-", "100%"]
QUOTED_WORDS = ["a,b", "two\nlines", 'say "no"', " spaces ", "semi;colon", "a|b", "tab\there", '"', "x\n\ny"]
ODD_NUMBERS = ["1e-50", "1e39", "+1", "-0", "007", ".5", "5.", "+.25", "1E5", "1e+05", "1e-400", "4.9e-324",
               "1.7976931348623157e308", "9007199254740993", "123456789012345678901234567890", "0.1",
               "1700000000.123456", "2.2250738585072011e-308", "0.30000000000000004", "-1e-5"]


def number(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(ODD_NUMBERS)
    if kind == 1:
        return str(rng.randrange(-1000, 1000))
    if kind == 2:
        return repr(rng.gauss(0, 1))
    if kind == 3:
        return f"{rng.gauss(0, 1) * 10 ** rng.randrange(-30, 30):.{rng.randrange(1, 19)}e}"
    if kind == 4:  # any double
        value = struct.unpack("<d", rng.randbytes(8))[0]
        return repr(value) if value - value == 0 else "0"
    return f"{rng.randrange(10 ** 12)}.{rng.randrange(10 ** 9)}"


def in_quotes(cell):
    return '"' + cell.replace('"', '""') + '"'


class Dialect:
    def __init__(self, rng):
        self.rng = rng
        self.name = rng.choice(["comma"] * 4 + list(DELIMITERS))
        self.delimiter = DELIMITERS[self.name]
        self.line_end = rng.choice(["\n", "\n", "\r\n", "\r"])
        self.quoting = rng.choice([0, 0.3, 1])
        self.padding = 0 if self.name == "space" else rng.choice([0, 0, 0.3])
        self.last_end = rng.random() < 0.7
        self.empty_lines = rng.choice([0, 0, 0.2])
        self.mark = "\ufeff" if rng.random() < 0.2 else ""

    def number_cell(self):
        cell = number(self.rng)
        if self.rng.random() < self.quoting:
            return in_quotes(cell)
        return f"  {cell} " if self.rng.random() < self.padding else cell

    def word_cell(self):
        if self.rng.random() < 0.4:
            return in_quotes(self.rng.choice(QUOTED_WORDS))
        word = self.rng.choice(WORDS)
        return word if self.delimiter not in word and self.quoting < 1 else in_quotes(word)

    def name_cell(self, name):
        return in_quotes(name) if self.rng.random() < self.quoting else name

    def text(self, rows):
        lines = []
        for row in rows:
            lines.append(self.delimiter.join(row))
            while self.rng.random() < self.empty_lines:
                lines.append("")
        return self.mark + self.line_end.join(lines) + (self.line_end if self.last_end else "")


def generated(rng):
    dialect = Dialect(rng)
    numbers = [f"n{i}" for i in range(rng.randrange(1, 4))]
    names = numbers + ["words", "unused"]
    rng.shuffle(names)
    rows = [[dialect.name_cell(name) for name in names]]
    for _ in range(rng.randrange(1, 7)):
        rows.append([dialect.number_cell() if name in numbers else dialect.word_cell() for name in names])
    return dict(delimiter=dialect.name, numbers=numbers, text=dialect.text(rows))


def read(file):
    table = pandas.read_csv(io.BytesIO(file["text"].encode()), sep=DELIMITERS[file["delimiter"]],
                            keep_default_na=False, index_col=False,
                            dtype={"words": str, **dict.fromkeys(file["numbers"], "float64")})
    return table[file["numbers"]].values.flatten().tolist(), table["words"].tolist()


def recorded(rng):
    file = generated(rng)
    values, words = read(file)
    assert all(value - value == 0 for value in values), file
    return dict(file, values=values, words=words)


def refused(fault, text, pattern):
    return dict(fault=fault, text=text, message=pattern)


REFUSED = [
    refused("an empty cell", "n,words\n1,a\n,b\n", ":3: column \"n\": the cell is empty"),
    refused("a blank cell", "n,words\n1,a\n  ,b\n", ":3: column \"n\": the cell is empty"),
    refused("an empty word", "n,words\n1,a\n2,\n", ":3: column \"words\": the cell is empty"),
    refused("an empty quoted cell", 'n,words\n"",a\n', ":2: column \"n\": the cell is empty"),
    refused("a word for missing", "n,words\nNA,a\n", ":2: column \"n\": NA is not a number"),
    refused("nan", "n,words\n1,a\nnan,b\n", ":3: column \"n\": nan is not a finite number"),
    refused("infinity", "n,words\n-inf,a\n", ":2: column \"n\": -inf is not a finite number"),
    refused("an overflow", "n,words\n1e999,a\n", ":2: column \"n\": 1e999 is not a finite number"),
    refused("a word", "n,words\nten,a\n", ":2: column \"n\": ten is not a number"),
    refused("a truth value", "n,words\nTrue,a\n", ":2: column \"n\": True is not a number"),
    refused("two signs", "n,words\n+-1,a\n", ":2: column \"n\": +-1 is not a number"),
    refused("a hexadecimal number", "n,words\n0x10,a\n", ":2: column \"n\": 0x10 is not a number"),
    refused("an unfinished exponent", "n,words\n1e,a\n", ":2: column \"n\": 1e is not a number"),
    refused("a decimal comma", 'n,words\n"1,5",a\n', "1,5 is not a number; write decimals with a point"),
    refused("a short row", "n,words\n1,a\n2\n", ":3: the row has 1 cell, but the header has 2 columns"),
    refused("a long row", "n,words\n1,a\n2,b,c\n", ":3: the row has 3 cells, but the header has 2 columns"),
    refused("a delimiter at the end of rows", "n,words\n1,a,\n", ":2: the row has 3 cells"),
    refused("text after a closing quote", 'n,words\n1,"a\nb"c\n', ":3: text follows the closing quote"),
    refused("a second quoted text", 'n,words\n1,"a" "b"\n', ":2: text follows the closing quote"),
    refused("an unfinished quoted cell", 'n,words\n1,a\n2,"b\n3,c\n', ":3: the quoted cell that begins here has no"),
    refused("one name of two columns", "n,n,words\n1,2,a\n", ":1: 2 columns have the name \"n\""),
    refused("no rows", "n,words\n", "there are no rows below the column names"),
    refused("an empty file", "", "the file is empty"),
]


def outcome(file):
    """What pandas does with a refused file: its values, or the name of its error."""
    try:
        values, words = read(dict(file, delimiter="comma", numbers=["n"]))
        return "reads " + repr((values, words))
    except Exception as error:  # the kind is all that is recorded
        return type(error).__name__


def main():
    rng = random.Random(15)
    files = [recorded(rng) for _ in range(300)]
    lines = [json.dumps(file, ensure_ascii=False) for file in files]
    others = [json.dumps(dict(file, pandas=outcome(file)), ensure_ascii=False) for file in REFUSED]
    sys.stdout.write('{"pandas": "%s",\n"files": [\n%s\n],\n"refused": [\n%s\n]}\n'
                     % (pandas.__version__, ",\n".join(lines), ",\n".join(others)))


main()
