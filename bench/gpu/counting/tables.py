"""Markdown of what was counted."""

from counting.work import by_kind, total

COLUMNS = ["GB read", "GB written", "GFLOP", "launches", "least µs"]


def heading(counted, rates):
    language = counted["language"]
    size = f"{language['sequence']} tokens" if language else counted["size"]
    slices = f" in {counted['slices']} slices" if counted["slices"] > 1 else ""
    tera = {name: rate / 1e12 for name, rate in rates.operations_per_second.items()}
    attention = f"attention {tera['cudnn_attention']:.0f} by cuDNN, {tera['attention']:.0f} by our kernels, "
    return (
        f"{counted['model']}, {size}, batch {counted['batch']}{slices}, {counted['precision']}, "
        f"{rates.name}: {rates.bytes_per_second / 1e9:.0f} GB/s, {tera['narrow']:.0f} TFLOP/s in 16 bits, "
        f"{tera['wide']:.0f} in 32, {attention if language else ''}{1e6 * rates.launch_seconds:.1f} µs a launch"
    )


def table(head, rows):
    """The first column to the left, the others to the right, as wide as they need to be."""
    rows = [head, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(pad(row, widths)) + " |" for row in rows]
    rule = ["-" * (width + 1) + ":" for width in widths[1:]]
    return "\n".join([lines[0], "|".join(["", "-" * (widths[0] + 2), *rule, ""]), *lines[1:]])


def pad(row, widths):
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]


def cells(sums):
    return [
        f"{sums['read'] / 1e9:.3f}",
        f"{sums['written'] / 1e9:.3f}",
        f"{sums['operations'] / 1e9:.1f}",
        str(sums["launches"]),
        f"{1e6 * sums['seconds']:.1f}",
    ]


def of_kinds(works, rates):
    kinds = by_kind(works, rates)
    rows = [[line["kind"], str(line["count"]), *cells(line)] for line in [*kinds, {"kind": "all", **total(kinds)}]]
    return table(["kind", "nodes", *COLUMNS], rows)


def of_nodes(works, rates):
    def row(work):
        return [work.kind, work.unit, work.what, *cells({**vars(work), "seconds": rates.seconds(work)})]

    return table(["kind", "of", "what", *COLUMNS], [row(work) for work in works])


def of_steps(steps, rates, batch):
    rows = []
    for name, works in steps.items():
        sums = total(by_kind(works, rates))
        moved, seconds = sums["read"] + sums["written"], sums["seconds"]
        figures = [f"{moved / 1e9:.1f}", str(sums["launches"]), f"{1e3 * seconds:.1f}", f"{batch / seconds:.0f}"]
        rows.append([name, *figures])
    return table(["step", "GB", "launches", "least ms", "images/s at most"], rows)


def of_language_steps(steps, rates, language):
    """Shares of the peak (MFU) by nanoGPT's formula; none for a device whose peak is unknown."""
    rows = []
    for name, works in steps.items():
        sums = total(by_kind(works, rates))
        tokens, seconds = language["tokens"], sums["seconds"]
        share = language["operations_per_token"] * tokens / seconds / language["peak"] if language["peak"] else None
        rows.append(
            [
                name,
                f"{(sums['read'] + sums['written']) / tokens / 1e6:.2f}",
                f"{sums['operations'] / tokens / 1e9:.3f}",
                str(sums["launches"]),
                f"{1e3 * seconds:.1f}",
                f"{tokens / seconds:.0f}",
                "–" if share is None else f"{100 * share:.1f}%",
            ]
        )
    head = ["step", "MB a token", "GFLOP a token", "launches", "least ms", "tokens/s at most", "MFU"]
    return table(head, rows)


def last_line(works):
    return f"{sum(work.moved for work in works) / 1e9:.2f} GB, {sum(work.launches for work in works)} launches"
