// Rows of stacked bars, each below its name and value. data: {parts: [[name, color]], rows: [{name, values,
// text, limit, mark}], format, most, markName}.

class Bars extends Chart {
  stops() { return this.data.rows.length; }

  draw(width) {
    const { rows, most } = this.data;
    this.top = row => 4 + row * 40;
    this.height = this.top(rows.length);
    this.most = Math.max(most || 0, ...rows.map(row => Math.max(sum(row.values), row.mark || 0))) || 1;
    this.at = value => 1 + Math.min(1, value / this.most) * (width - 2);
    return rows.flatMap((row, index) => {
      const top = this.top(index), text = row.text ?? unknown;
      let from = 0;
      const parts = row.values.flatMap((value, part) => {
        if (!known(value) || value <= 0) return [];
        const [left, right] = [this.at(from), this.at(from += value)];
        return [make('rect', { class: `${this.data.parts[part][1]} fill`, x: left.toFixed(1), y: top + 19, width: Math.max(0.5, right - left - 1).toFixed(1), height: 12, rx: 2 })];
      });
      return [make('text', { class: 'strong', x: 1, y: top + 12 }, fitted(row.name, width - textWidth(text) - 14)),
        make('text', { x: width - 1, y: top + 12, 'text-anchor': 'end' }, text),
        make('rect', { class: 'trough', x: 1, y: top + 19, width: Math.max(0, this.at(row.limit ?? this.most) - 1).toFixed(1), height: 12, rx: 2 }), ...parts,
        known(row.mark) && row.mark > 0 ? make('path', { class: 'peak', d: `M${this.at(row.mark).toFixed(1)} ${top + 16}v18` }) : null].filter(given);
    });
  }

  nearest(x, y) { return Math.max(0, Math.min(this.stops() - 1, Math.floor((y - 4) / 40))); }

  place(row) { return { x: this.box.clientWidth / 2, y: this.top(row) + 40 }; }

  says(stop) {
    const { rows, parts, format, markName } = this.data, row = rows[stop];
    return { title: row.name, rows: [...parts.map(([name, color], part) => [name, format(row.values[part]), `block ${color}`]).filter((_, part) => known(row.values[part])),
      ...(markName && known(row.mark) ? [[markName, format(row.mark), 'peak']] : [])] };
  }

  marks(row) { return [make('rect', { class: 'outline', x: 0.5, y: this.top(row) - 1.5, width: this.box.clientWidth - 1, height: 37, rx: 4 })]; }
}
