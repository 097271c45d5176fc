// Rows of stacked bars, each below its name and value. data: {parts: [[name, color]], rows: [{name,
// values, text, limit, mark, widths, more}], format, most, markName}. `widths`: drawn lengths of
// the parts, if other than their values; `more`: further values of a row, [[name, text]].

class Bars extends Chart {
  stops() { return this.data.rows.length; }

  top(row) { return 4 + row * 40; }

  draw(width) {
    const { rows, parts, most } = this.data;
    this.height = this.top(rows.length);
    const end = Math.max(most || 0, ...rows.map(row => Math.max(sum(row.widths || row.values), row.mark || 0))) || 1;
    const at = value => 1 + Math.min(1, value / end) * (width - 2);
    return rows.flatMap((row, index) => {
      const top = this.top(index);
      let from = 0;
      return [words(fitted(row.name, width - textWidth(row.text) - 14), 1, top + 12, 'start', 'strong'), words(row.text, width - 1, top + 12, 'end'),
        box('trough', 1, top + 19, at(row.limit ?? end) - 1, 12, 2),
        ...(row.widths || row.values).map((value, part) => {
          const left = at(from);
          if (value > 0) return box(`${parts[part][1]} fill`, left, top + 19, Math.max(0.5, at(from += value) - left - 1), 12, 2);
        }), row.mark > 0 && path('peak', trace`M${at(row.mark)} ${top + 16}v18`)].filter(given);
    });
  }

  nearest(x, y) { return Math.max(0, Math.min(this.stops() - 1, Math.floor((y - 4) / 40))); }

  place(row) { return { x: this.box.clientWidth / 2, y: this.top(row) + 40 }; }

  pressed(event) {
    super.pressed(event);
    const around = this.box.parentNode, top = this.top(this.stop ?? 0);
    if (top < around.scrollTop || top + 40 > around.scrollTop + around.clientHeight) around.scrollTop = top - 80;
  }

  says(stop) {
    const { rows, parts, format, markName } = this.data, row = rows[stop];
    return { title: row.name, rows: [...parts.map(([name, color], part) => [name, format(row.values[part]), color]).filter((_, part) => known(row.values[part])),
      ...(markName && known(row.mark) ? [[markName, format(row.mark), 'peak']] : []), ...list(row.more).map(each => [...each, 'none'])] };
  }

  marks(row) { return [box('outline', 0.5, this.top(row) - 1.5, this.box.clientWidth - 1, 37, 4)]; }
}
