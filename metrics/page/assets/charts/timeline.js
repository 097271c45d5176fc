// The spans of one step, one row for each row of the timeline, with a fixed column of names beside
// it. data: the document's `timeline`.

class Timeline extends Chart {
  constructor(host, label, tools) {
    const names = make('svg', { 'aria-hidden': 'true', class: 'names' }), pane = make('div', { class: 'pane' });
    const zoomed = factor => () => this.scale(this.zoom * factor);
    tools.append(button('−', zoomed(0.5), { 'aria-label': 'Zoom out' }), button('+', zoomed(2), { 'aria-label': 'Zoom in' }), button('Whole step', () => this.scale(1)));
    host.append(make('div', { class: 'timeline' }, names, pane));
    super(pane, label);
    Object.assign(this, { names, pane, zoom: 1 });
    pane.addEventListener('scroll', () => this.move(null));
    new ResizeObserver(() => this.redraw()).observe(pane);
  }

  set(data) {
    // Spans in keyboard order: row by row, by begin.
    this.spans = data.rows.flatMap((row, index) => list(row.spans).map(([begin, seconds, kind, name]) => ({ row: index, begin, end: begin + seconds, seconds, color: `c${kind % 8}`, kind, name })))
      .sort((a, b) => a.row - b.row || a.begin - b.begin);
    super.set(data);
  }

  scale(zoom) {
    const { pane } = this, middle = (pane.scrollLeft + pane.clientWidth / 2) / this.width;
    this.zoom = Math.max(1, Math.min(64, zoom));
    this.redraw();
    pane.scrollLeft = middle * this.width - pane.clientWidth / 2;
  }

  redraw() {
    // Uses the width of the pane, not of its content.
    this.wide = Math.floor(Math.max(560, this.pane.clientWidth) * this.zoom);
    this.box.style.width = `${this.wide}px`;
    super.redraw();
  }

  draw(width) {
    const { rows, seconds } = this.data, names = [], tops = this.tops = [];
    let y = 4, group = null;
    for (const row of rows) {
      if (row.group !== group) {
        names.push(words(fitted(group = row.group, 100), 0, y + 16, 'start', 'strong'));
        y += 22;
      }
      tops.push(y);
      names.push(words(fitted(row.name, 92), 8, y + 15));
      y += 24;
    }
    show(this.names, names);
    this.height = y + 28;
    this.names.setAttribute('height', this.height);
    const end = Math.max(seconds || 0, ...this.spans.map(span => span.end)) || 1, [unit, factor] = unitOf(end);
    const x = linearScale(0, end * factor, 1, width - 1, { wanted: width / 110, round: false });
    this.width = width;
    this.at = value => x.at(value * factor);
    return [...x.ticks.flatMap(tick => {
      const label = `${digits(tick, 6)} ${unit}`, half = textWidth(label) / 2;
      return [path('rule', trace`M${x.at(tick)} 4V${y}`), words(label, Math.max(half, Math.min(width - half, x.at(tick))), y + 18, 'middle')];
    }), ...tops.map(top => path('rule', trace`M0 ${top + 22.5}H${width}`)), ...this.spans.filter((span, index) => !this.covered(span, this.spans[index - 1])).flatMap(span => this.drawn(span))];
  }

  // Whether a span is in the same pixel as the previous one: there can be many more spans than
  // pixels.
  covered(span, before) {
    return before && before.row === span.row && before.kind === span.kind && Math.floor(this.at(span.end)) === Math.floor(this.at(before.begin));
  }

  // Shows a span's name inside it, or the last word of the name, if there is room.
  drawn({ row, begin, end, color, name }) {
    const x = this.at(begin), width = Math.max(1, this.at(end) - x), top = this.tops[row] + 2;
    const text = width > 24 && [name, name.split(' ').at(-1)].find(words => textWidth(words) < width - 8);
    return [box(`${color} fill`, x, top, width > 3 ? width - 0.5 : width, 18, width > 6 ? 2 : 0), ...(text ? [words(text, x + 4, top + 13, 'start', `on ${color}`)] : [])];
  }

  stops() { return this.spans.length; }

  nearest(x, y) {
    const row = Math.max(0, this.tops.findLastIndex(top => top <= y));
    const away = this.spans.map(span => span.row === row ? Math.max(this.at(span.begin) - x, x - this.at(span.end), 0) : Infinity), least = Math.min(...away);
    return least < 24 ? away.lastIndexOf(least) : -1;
  }

  next(key, stop) {
    const factor = { '+': 2, '=': 2, '-': 0.5, 0: 0 }[key];
    if (factor !== undefined) return this.scale(this.zoom * factor), stop;
    if (stop === null) return super.next(key, null) === null ? null : 0;
    const here = this.spans[stop], of = row => this.spans.map((_, index) => index).filter(index => this.spans[index].row === row), inRow = of(here.row);
    if (key === 'Home' || key === 'End') return inRow.at(key === 'Home' ? 0 : -1);
    if (key === 'ArrowLeft' || key === 'ArrowRight') return inRow[inRow.indexOf(stop) + (key === 'ArrowLeft' ? -1 : 1)] ?? stop;
    if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
    // Moves to the next row with spans, to the span with the nearest begin.
    const rows = [...new Set(this.spans.map(span => span.row))], row = rows[rows.indexOf(here.row) + (key === 'ArrowDown' ? 1 : -1)];
    const away = index => Math.abs(this.spans[index].begin - here.begin);
    return row === undefined ? stop : of(row).reduce((best, index) => away(index) < away(best) ? index : best);
  }

  pressed(event) {
    super.pressed(event);
    if (this.stop === null) return;
    // Scrolls the span under the cursor into view.
    const { stop, pane } = this, left = this.at(this.spans[stop].begin);
    if (left >= pane.scrollLeft && left + 20 <= pane.scrollLeft + pane.clientWidth) return;
    pane.scrollLeft = left - pane.clientWidth / 3;
    requestAnimationFrame(() => this.move(stop));
  }

  place(stop) {
    const { begin, end, row } = this.spans[stop];
    return { x: Math.max(this.pane.scrollLeft, (this.at(begin) + this.at(end)) / 2), y: this.tops[row] + 26 };
  }

  says(stop) {
    const { row, name, kind, seconds, begin, color } = this.spans[stop], { rows, kinds } = this.data;
    return { title: name, rows: [[`${list(kinds)[kind] || 'other'}, ${rows[row].group} ${rows[row].name}`, asSeconds(seconds), color], ['begins after', asSeconds(begin), 'none']] };
  }

  marks(stop) {
    const { row, begin, end } = this.spans[stop], x = this.at(begin);
    return [box('outline', x - 1.5, this.tops[row] + 0.5, Math.max(1, this.at(end) - x) + 3, 21, 3)];
  }
}
