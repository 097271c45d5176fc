// Curves over steps. The cursors of all line charts move together.

class LineChart extends Chart {
  // data: {x, lines: [{name, x, y, look: line|faint|dots|band, high, color, mark}], epoch}; a line
  // without x has the chart's x. options: format, fromZero, most (the axis extends at least to it).
  constructor(host, label, options) {
    super(host, label);
    this.options = { format: asNumber, ...options };
    this.axis = this.options.format === asPercent ? asShortPercent : asNumber;
    this.names = make('ul', { class: 'legend' });
    this.box.before(this.names);
    LineChart.all.add(this);
  }

  redraw() {
    super.redraw();
    if (known(this.followed)) this.follow(this.followed);
  }

  stops() { return this.data.x.length; }

  xOf(line) { return line.x || this.data.x; }

  // Whether a value has a position: it is known, and above zero on a logarithmic axis.
  has(value) { return known(value) && (!this.logarithmic || value > 0); }

  scales(width) {
    const { lines } = this.data, { fromZero, most } = this.options;
    const shown = lines.filter(line => line.look !== 'band').flatMap(line => line.y).filter(value => this.has(value));
    let low = Math.min(...shown), high = Math.max(...shown, most ?? -Infinity);
    if (fromZero && !this.logarithmic) low = Math.min(0, low);
    // Shows a band completely, unless it is far wider than the lines inside it.
    const room = (high - low) / 4, band = lines.filter(line => line.high), inside = values => values.filter(value => this.has(value));
    low = Math.max(this.logarithmic ? low / 1.5 : low - room, Math.min(low, ...inside(band.flatMap(line => line.y))));
    high = Math.min(high + room, Math.max(high, ...inside(band.flatMap(line => line.high))));
    if (!shown.length) [low, high] = [0.1, 1];
    this.height = width < 420 ? 200 : 230;
    this.bottom = this.height - 26;
    this.y = this.logarithmic ? logScale(low, high, this.bottom, 10) : linearScale(low, high, this.bottom, 10);
    this.left = gutter(this.y.ticks, this.axis);
    this.right = width - 12;
    const ends = lines.flatMap(line => this.xOf(line));
    this.x = linearScale(Math.min(...ends), Math.max(...ends), this.left, this.right, { wanted: (this.right - this.left) / 90, whole: true, round: false });
  }

  draw(width) {
    this.scales(width);
    this.label();
    const id = `clip-${this.box.getAttribute('aria-label').replace(/\W+/g, '-')}`;
    return [...yAxis(this.y, this.left, this.right, this.axis), ...xAxis(this.x, this.left, this.right, this.bottom, 'step', asCount),
      make('clipPath', { id }, box(null, this.left - 6, 4, this.right - this.left + 12, this.bottom - 3)),
      make('g', { 'clip-path': `url(#${id})` }, this.data.lines.map(line => this.drawn(line)))];
  }

  drawn(line) {
    const xs = this.xOf(line), at = (values, i) => `${tenth(this.x.at(xs[i]))} ${tenth(this.y.at(values[i]))}`;
    const there = xs.map((_, i) => i).filter(i => this.has(line.y[i]) && (!line.high || this.has(line.high[i])));
    if (line.look === 'band') {
      const over = there.map(i => at(line.high, i)), under = there.map(i => at(line.y, i)).reverse();
      return over.length > 1 && path(`band ${line.color}`, `M${[...over, ...under].join('L')}Z`);
    }
    // A missing value leaves a gap in the curve; epochs without an evaluation do not.
    const curve = there.map((i, index) => `${index && (line.x || there[index - 1] === i - 1) ? 'L' : 'M'}${at(line.y, i)}`).join('');
    return make('g', { class: `${line.look} ${line.color}` }, path('curve', curve),
      there.length < (line.look === 'dots' ? 61 : 2) && there.map(i => this.dot(line, this.x.at(xs[i]), this.y.at(line.y[i]))));
  }

  // Points of the test set are diamonds.
  dot(line, x, y) {
    return line.mark === 'diamond' ? path('dot', trace`M${x} ${y - 5.5}l5.5 5.5-5.5 5.5-5.5-5.5z`) : make('circle', { class: `dot ${line.color}`, cx: x, cy: y, r: 4 });
  }

  // The value of a line at x: the point there, or the last one before it.
  valueAt(line, x) {
    const xs = this.xOf(line), { format } = this.options;
    let i = xs.length - 1;
    while (i >= 0 && (xs[i] > x || line.x && !known(line.y[i]))) --i;
    return i < 0 || !known(line.y[i]) ? unknown : line.high ? `${format(line.y[i])} – ${format(line.high[i])}` : format(line.y[i]);
  }

  label() {
    const at = this.followed ?? (this.stop === null ? Infinity : this.data.x[this.stop]);
    legend(this.names, this.data.lines.filter(line => line.look !== 'faint')
      .map(line => [line.name, line.mark || line.look, line.color, line.high ? null : this.valueAt(line, at)]));
  }

  nearest(x) {
    const away = this.data.x.map(value => Math.abs(this.x.at(value) - x));
    return away.indexOf(Math.min(...away));
  }

  place(stop) { return { x: this.x.at(this.data.x[stop]), y: 8 }; }

  says(stop) {
    const x = this.data.x[stop], epoch = this.data.epoch[stop];
    return { title: `step ${asCount(x)}${known(epoch) ? `, epoch ${asCount(Math.floor(epoch) + 1)}` : ''}`,
      rows: this.data.lines.map(line => [line.name, this.valueAt(line, x), `${line.mark || line.look} ${line.color}`]) };
  }

  marks(stop) {
    const x = this.x.at(this.data.x[stop]);
    return [path('cursor', trace`M${x} 10V${this.bottom}`), ...this.data.lines.filter(line => !line.x && !line.high && this.has(line.y[stop]))
      .map(line => this.dot({ color: line.color }, x, this.y.at(line.y[stop])))];
  }

  move(stop) {
    super.move(stop);
    this.followed = null;
    if (!this.x) return;
    this.label();
    for (const other of LineChart.all) if (other !== this) other.follow(this.stop === null ? null : this.data.x[this.stop]);
  }

  follow(x) {
    if (!this.x || !this.stops()) return;
    this.followed = x;
    show(this.pointer, known(x) && this.marks(this.nearest(this.x.at(x))));
    this.label();
  }
}
LineChart.all = new Set();

// Moving averages, if there are enough points; near the beginning, where changes are largest, over
// fewer points.
function smoothed(values) {
  const sums = [0], counts = [0];
  values.forEach((value, i) => {
    sums.push(sums[i] + (known(value) ? value : 0));
    counts.push(counts[i] + (known(value) ? 1 : 0));
  });
  if (counts.at(-1) < 25) return null;
  const reach = Math.max(2, Math.round(values.length / 40));
  return values.map((value, i) => {
    const from = Math.max(0, i - reach), to = Math.min(values.length, i + Math.min(reach, i) + 1);
    return known(value) ? (sums[to] - sums[from]) / (counts[to] - counts[from]) : null;
  });
}
