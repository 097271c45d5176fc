"""Small PNG files, without a library for images."""
import struct
import zlib


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, size, value):
    """A square colour image; `value(x, y, c)` says each channel's, of which the lowest 8 bits count."""
    rows = b"".join(
        b"\0" + bytes(value(x, y, c) % 256 for x in range(size) for c in range(3)) for y in range(size)
    )
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def write_animals(root, train, val):
    """An image folder of three classes, which differ in colour and stripes; so many images of each in both splits."""
    for split, count in (("train", train), ("val", val)):
        for label, name in enumerate(("bird", "frog", "horse")):
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(1, count + 1):
                write_png(
                    folder / f"{i}.png", 32, lambda x, y, c: 60 * (c == label) + 8 * (x * label + y) % 128 + i * 7 % 64
                )
