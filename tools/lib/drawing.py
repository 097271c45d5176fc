"""Drawings of boxes and arrows, as SVG, that tools make from the source."""
import dataclasses
import pathlib
import sys
from xml.sax.saxutils import escape

WIDTH, BOX_WIDTH, BOX_HEIGHT = 1000, 190, 48
INK, LINE, FILL, PAPER = "#1f2933", "#7b8794", "#e6f0fa", "#ffffff"


@dataclasses.dataclass(frozen=True)
class Box:
    name: str
    note: str  # below the name; empty: none
    x: int  # of the center
    y: int

    def svg(self) -> str:
        left, top = self.x - BOX_WIDTH / 2, self.y - BOX_HEIGHT / 2
        return (
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8" fill="{FILL}" stroke="{INK}"/>\n'
            f'<text x="{self.x}" y="{self.y - 4 if self.note else self.y + 5}" font-size="13" font-weight="bold" text-anchor="middle" fill="{INK}">{self.name}</text>'
            + (f'\n<text x="{self.x}" y="{self.y + 13}" font-size="11" text-anchor="middle" fill="{INK}">{self.note}</text>' if self.note else "")
        )

    def edge(self, toward: "Box") -> tuple[float, float]:
        """Where the line to another box leaves this one."""
        dx, dy = toward.x - self.x, toward.y - self.y
        scale = min(BOX_WIDTH / 2 / abs(dx) if dx else 9e9, BOX_HEIGHT / 2 / abs(dy) if dy else 9e9)
        return self.x + dx * scale, self.y + dy * scale


@dataclasses.dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    labels: list[str]
    shift: tuple[int, int] = (0, -8)  # of the labels from the middle of the arrow

    def svg(self, source: Box, target: Box, both: bool) -> str:
        """`both`: there is an arrow back, beside this one."""
        (x1, y1), (x2, y2) = source.edge(target), target.edge(source)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        aside_x, aside_y = ((y2 - y1) / length * -7, (x2 - x1) / length * 7) if both else (0, 0)
        x1, y1, x2, y2 = x1 + aside_x, y1 + aside_y, x2 + aside_x, y2 + aside_y
        at_x, at_y = (x1 + x2) / 2 + self.shift[0], (y1 + y2) / 2 + self.shift[1] - 6 * (len(self.labels) - 1)
        label = "".join(
            f'<tspan x="{at_x:.0f}" y="{at_y + 13 * i:.0f}">{escape(text)}</tspan>' for i, text in enumerate(self.labels)
        )
        return (
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{LINE}" stroke-width="1.5" marker-end="url(#end)"/>\n'
            f'<text font-size="11" text-anchor="middle" fill="{INK}" stroke="{PAPER}" stroke-width="3" paint-order="stroke">{label}</text>'
        )


def drawing(title: str, height: int, boxes: dict[str, Box], arrows: list[Arrow]) -> str:
    ways = {(arrow.source, arrow.target) for arrow in arrows}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        f"<title>{title}</title>",
        f'<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="12" fill="{PAPER}"/>',
        *(box.svg() for box in boxes.values()),
        *(a.svg(boxes[a.source], boxes[a.target], (a.target, a.source) in ways) for a in arrows),
        "</svg>\n",
    ]
    return "\n".join(parts)


def write(path: pathlib.Path, mistakes: list[str], draw) -> int:
    """Writes the file that `draw` returns; with --check, compares it. Returns the exit code of the tool."""
    tool = f"tools/{pathlib.Path(sys.argv[0]).name}"
    if mistakes:
        print(*(f"{tool}: {mistake}" for mistake in mistakes), sep="\n", file=sys.stderr)
        return 1
    drawn = draw()
    if "--check" not in sys.argv[1:]:
        path.write_text(drawn, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != drawn:
        print(f"docs/images/{path.name} is not what {tool} draws: run it", file=sys.stderr)
        return 1
    return 0
