#!/usr/bin/env python3
"""Records damaged_images.json: which damaged JPEG and PNG files Pillow opens by default, and the
pixels of its convert("RGB"), for tests/data/damaged_images_test.cpp.

Usage: record_damaged_images.py > damaged_images.json    (Pillow; made with 13.0.0)
"""
import base64
import io
import json
import struct
import sys
import zlib

import PIL
from PIL import Image

HEIGHT, WIDTH = 12, 18
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def pattern(channels):
    """The same image as pattern() in tests/data/image_files.cpp."""
    return bytes((37 * y + 11 * x + 83 * c + x * y) % 256
                 for y in range(HEIGHT) for x in range(WIDTH) for c in range(channels))


def image(mode):
    channels = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (WIDTH, HEIGHT), pattern(channels))


def jpeg(mode, **options):
    file = io.BytesIO()
    image(mode).save(file, "JPEG", quality=90, **options)
    return file.getvalue()


def changed(file, at, bits=0x5A):
    return file[:at] + bytes([file[at] ^ bits]) + file[at + 1:]


def jpegs():
    kinds = {"rgb": jpeg("RGB", subsampling=0), "rgb subsampled": jpeg("RGB", subsampling=2),
             "grey": jpeg("L"), "cmyk": jpeg("CMYK"),
             "progressive": jpeg("RGB", progressive=True),
             "restarts": jpeg("RGB", restart_marker_blocks=3)}
    for kind, file in kinds.items():
        yield f"{kind}: whole", file, False
        scan = file.index(b"\xff\xda") + 14
        for share in (0.3, 0.6, 0.9):
            cut = file[:scan + int(share * (len(file) - scan))]
            yield f"{kind}: cut at {share}", cut, True
            yield f"{kind}: premature end at {share}", cut + b"\xff\xd9", True
        yield f"{kind}: no end", file[:-2], True
        yield f"{kind}: bytes after the end", file + b"abc", False
        for share in (0.2, 0.5, 0.8):
            yield f"{kind}: changed at {share}", changed(file, scan + int(share * (len(file) - scan))), None
    yield "an image of more bits", changed(kinds["rgb"], kinds["rgb"].index(b"\xff\xc0") + 4, 4), True
    yield "bytes before a marker", kinds["rgb"].replace(b"\xff\xc4", b"ab\xff\xc4", 1), None


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def wrong(made):
    """The chunk with a wrong checksum."""
    return changed(made, len(made) - 1)


def rows(channels, height=HEIGHT, width=WIDTH):
    pixels = pattern(channels)
    return b"".join(b"\0" + pixels[y * width * channels:(y + 1) * width * channels] for y in range(height))


def interlaced_rows(channels):
    """Adam7."""
    pixels, out = pattern(channels), b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                         (0, 1, 1, 2)):
        for row in range(y, HEIGHT, dy):
            out += b"\0" + b"".join(pixels[(row * WIDTH + column) * channels:][:channels]
                                    for column in range(x, WIDTH, dx))
    return out


class Png:
    """A file in pieces, which can be put together in other ways."""

    def __init__(self, colour, channels, interlaced=0, palette=b""):
        unpacked = interlaced_rows(channels) if interlaced else rows(channels)
        # Pass 1 has two rows of three pixels.
        self.row_end = 2 * (1 + 3 * channels) if interlaced else 7 * (1 + WIDTH * channels)
        self.header = chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, colour, 0, 0, interlaced))
        self.palette = chunk(b"PLTE", palette) if palette else b""
        self.unpacked = unpacked
        self.packed = zlib.compress(unpacked)

    def file(self, data=None, before=b"", after=b"", header=None, end=chunk(b"IEND", b"")):
        data = chunk(b"IDAT", self.packed) if data is None else data
        return SIGNATURE + (header or self.header) + self.palette + before + data + after + end


def pngs():
    colours = bytes(value for i in range(256) for value in (i, 255 - i, 7))
    kinds = {"grey": Png(0, 1), "rgb": Png(2, 3), "palette": Png(3, 1, palette=colours), "rgba": Png(6, 4),
             "interlaced": Png(2, 3, interlaced=1)}
    text = chunk(b"tEXt", b"a\0b")
    for kind, png in kinds.items():
        packed, sum_at, half = png.packed, len(png.packed) - 4, len(png.packed) // 2
        split = chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:])
        yield f"{kind}: whole", png.file(), False
        yield f"{kind}: whole, two parts", png.file(split), False
        yield f"{kind}: bytes after the end", png.file() + b"abc", False
        yield f"{kind}: no end", png.file(end=b""), True
        yield f"{kind}: wrong checksum of the end", png.file(end=wrong(chunk(b"IEND", b""))), True
        yield f"{kind}: wrong checksum", png.file(wrong(chunk(b"IDAT", packed))), True
        yield f"{kind}: wrong checksum of the first part", png.file(
            wrong(chunk(b"IDAT", packed[:half])) + chunk(b"IDAT", packed[half:])), True
        yield f"{kind}: no checksum", png.file(chunk(b"IDAT", packed)[:-4], end=b""), True
        yield f"{kind}: no sum of the pixels", png.file(chunk(b"IDAT", packed[:sum_at])), True
        yield f"{kind}: wrong sum of the pixels", png.file(chunk(b"IDAT", changed(packed, sum_at))), True
        yield f"{kind}: wrong sum of the pixels, apart", png.file(
            chunk(b"IDAT", packed[:sum_at]) + chunk(b"IDAT", changed(packed[sum_at:], 0))), None
        yield f"{kind}: too few rows", png.file(chunk(b"IDAT", zlib.compress(png.unpacked[:png.row_end]))), True
        yield f"{kind}: a part of a row", png.file(
            chunk(b"IDAT", zlib.compress(png.unpacked[:png.row_end + 3]))), True
        yield f"{kind}: cut", png.file()[:-half], True
        for share in (0.2, 0.6, 0.9):
            yield f"{kind}: changed at {share}", png.file(
                chunk(b"IDAT", changed(packed, int(share * len(packed))))), None
    png = kinds["rgb"]
    yield "wrong checksum of the header", png.file(header=wrong(png.header)), True
    yield "wrong checksum of a text before the pixels", png.file(before=wrong(text)), True
    yield "wrong checksum of a text after the pixels", png.file(after=wrong(text)), False
    yield "cut in a text after the pixels", png.file(after=text[:-6], end=b""), True
    yield "no pixels", png.file(data=b""), True


def recorded(name, file, damaged):
    """damaged: whether a file that is read is called damaged; None: that is not compared."""
    entry = dict(name=name, file=base64.b64encode(file).decode())
    try:
        pixels = Image.open(io.BytesIO(file)).convert("RGB").tobytes()
    except Exception:  # Pillow raises errors of several kinds
        return entry
    entry["pixels"] = base64.b64encode(zlib.compress(pixels, 9)).decode()
    if damaged is not None:
        entry["damaged"] = damaged
    return entry


def main():
    golden = dict(pillow=PIL.__version__, height=HEIGHT, width=WIDTH,
                  jpeg=[recorded(*case) for case in jpegs()], png=[recorded(*case) for case in pngs()])
    json.dump(golden, sys.stdout, indent=0)
    print()


main()
