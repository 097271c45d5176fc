// The spans of one step, a row for each place where things happen, with a column of names beside it that stays
// where it is. data: the document's `timeline`.

class Timeline extends Chart {
  constructor(host, label) {
    const names = make('svg', { 'aria-hidden': 'true', class: 'names' }), pane = make('div', { class: 'pane' });
    const zoomed = factor => () => this.scale(this.zoom * factor);
    host.append(make('div', { class: 'tools' }, button('−', zoomed(0.5), { 'aria-label': 'Zoom out' }), button('+', zoomed(2), { 'aria-label': 'Zoom in' }),
      button('Whole step', () => this.scale(1))), make('div', { class: 'timeline' }, names, pane));
    super(pane, label);
    Object.assign(this, { names, pane, zoom: 1 });
    pane.addEventListener('scroll', () => this.move(null));
    new ResizeObserver(() => this.redraw()).observe(pane);
  }

  set(data) {
    // Spans in the order of the keys: row by row, each from its begin on.
    this.spans = list(data.rows).flatMap((row, index) => list(row.spans).map(([begin, seconds, kind, name]) => ({ row: index, begin, seconds, kind, name })))
      .sort((a, b) => a.row - b.row || a.begin - b.begin);
    super.set(data);
  }

  scale(zoom) {
    const middle = (this.pane.scrollLeft + this.pane.clientWidth / 2) / this.width;
    this.zoom = Math.max(1, Math.min(64, zoom));
    this.redraw();
    this.pane.scrollLeft = middle * this.width - this.pane.clientWidth / 2;
  }

  redraw() {
    // Its width is the pane's, however wide what is in it has become.
    if (this.pane) this.box.style.width = `${Math.max(this.pane.clientWidth, Math.floor(this.pane.clientWidth * this.zoom))}px`;
    super.redraw();
  }

  draw(width) {
    const { rows, seconds } = this.data;
    this.width = width;
    const tops = [], names = [];
    let y = 8, group = null;
    for (const row of rows) {
      if (row.group !== group) {
        names.push(make('text', { class: 'strong', x: 0, y: y + 14 }, fitted(group = row.group, 100)));
        y += 22;
      }
      tops.push(y);
      names.push(make('text', { x: 8, y: y + 14 }, fitted(row.name, 94)));
      y += 24;
    }
    this.height = y + 28;
    this.tops = tops;
    show(this.names, names);
    this.names.setAttribute('height', this.height);
    const end = Math.max(seconds || 0, ...this.spans.map(span => span.begin + span.seconds)) || 1;
    const [unit, factor] = end < 1e-3 ? ['µs', 1e6] : end < 1 ? ['ms', 1e3] : ['s', 1];
    this.x = linearScale(0, end * factor, 1, width - 1, { wanted: width / 100, round: false });
    this.at = value => this.x.at(value * factor);
    return [...this.x.ticks.flatMap((tick, index) => {
      const label = `${digits(tick, 6)} ${unit}`, x = this.x.at(tick), half = textWidth(label) / 2;
      return [make('path', { class: 'rule', d: `M${x.toFixed(1)} 4V${y}` }), index && x + half > width ? null
        : make('text', { x: Math.max(half, x).toFixed(1), y: y + 18, 'text-anchor': 'middle' }, label)].filter(given);
    }), ...tops.map(top => make('path', { class: 'rule', d: `M0 ${top + 22}H${width}` })), ...this.spans.flatMap(span => this.drawn(span))];
  }

  drawn({ row, begin, seconds, kind, name }) {
    const x = this.at(begin), width = Math.max(1, this.at(begin + seconds) - x), text = width > 26 ? fitted(name, width - 8) : '';
    return [make('rect', { class: `c${kind % 8} fill`, x: x.toFixed(1), y: this.tops[row] + 2, width: (width > 3 ? width - 0.5 : width).toFixed(1), height: 18, rx: width > 6 ? 2 : 0 }),
      ...(text ? [make('text', { class: `on c${kind % 8}`, x: (x + 4).toFixed(1), y: this.tops[row] + 15 }, text)] : [])];
  }

  stops() { return this.spans.length; }

  nearest(x, y) {
    let row = this.tops.length - 1, best = -1, least = Infinity;
    while (row > 0 && this.tops[row] > y) --row;
    this.spans.forEach((span, index) => {
      if (span.row !== row) return;
      const away = Math.max(this.at(span.begin) - x, x - this.at(span.begin + span.seconds), 0);
      if (away <= least) [best, least] = [index, away];
    });
    return least < 24 ? best : -1;
  }

  next(key, stop) {
    const here = this.spans[stop ?? 0], inRow = this.spans.map((_, index) => index).filter(index => this.spans[index].row === here.row);
    if (key === '+' || key === '=') return this.scale(this.zoom * 2), stop;
    if (key === '-') return this.scale(this.zoom / 2), stop;
    if (key === '0') return this.scale(1), stop;
    if (key === 'Home') return inRow[0];
    if (key === 'End') return inRow.at(-1);
    if (key === 'ArrowLeft' || key === 'ArrowRight') return stop === null ? 0 : inRow[Math.max(0, Math.min(inRow.length - 1, inRow.indexOf(stop) + (key === 'ArrowLeft' ? -1 : 1)))];
    if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
    // The span of the nearest row with any that begins nearest to this one.
    const down = key === 'ArrowDown' ? 1 : -1, rows = this.spans.map(span => span.row).filter(row => (row - here.row) * down > 0);
    if (!rows.length) return stop ?? 0;
    const row = down > 0 ? Math.min(...rows) : Math.max(...rows);
    return this.spans.map((span, index) => [Math.abs(span.begin - here.begin), index]).filter(([, index]) => this.spans[index].row === row).sort((a, b) => a[0] - b[0])[0][1];
  }

  pressed(event) {
    super.pressed(event);
    if (this.stop === null) return;
    // What the keys lead to is in view.
    const { begin, seconds } = this.spans[this.stop], left = this.at(begin), right = this.at(begin + seconds), { scrollLeft, clientWidth } = this.pane;
    if (left < scrollLeft || Math.min(right, left + 40) > scrollLeft + clientWidth) {
      const stop = this.stop;
      this.pane.scrollLeft = left - clientWidth / 3;
      requestAnimationFrame(() => this.move(stop));
    }
  }

  place(stop) {
    const span = this.spans[stop];
    return { x: Math.max(this.pane.scrollLeft, (this.at(span.begin) + this.at(span.begin + span.seconds)) / 2), y: this.tops[span.row] + 26 };
  }

  says(stop) {
    const span = this.spans[stop], { rows, kinds } = this.data, row = rows[span.row];
    return { title: span.name, rows: [[`${list(kinds)[span.kind] || 'other'}, ${row.group} ${row.name}`, asSeconds(span.seconds), `block c${span.kind % 8}`], ['begins after', asSeconds(span.begin), 'none']] };
  }

  marks(stop) {
    const span = this.spans[stop], x = this.at(span.begin);
    return [make('rect', { class: 'outline', x: (x - 1.5).toFixed(1), y: this.tops[span.row] + 0.5, width: (Math.max(1, this.at(span.begin + span.seconds) - x) + 3).toFixed(1), height: 21, rx: 3 })];
  }
}
