// Curves over steps. The cursors of all such charts go together.

class LineChart extends Chart {
  // data: {x, lines: [{name, x, y, look: line|faint|dots|band, high, color}], epoch}; a line without x
  // has that of the chart. options: format, fromZero, most (the least that the axis reaches to).
  constructor(host, label, options) {
    super(host, label);
    this.options = { format: asNumber, ...options };
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

  scales(width) {
    const { lines } = this.data, { fromZero, most } = this.options;
    const shown = lines.filter(line => line.look !== 'band').flatMap(line => line.y).filter(value => known(value) && (!this.logarithmic || value > 0));
    let low = Math.min(...shown), high = Math.max(...shown, most ?? -Infinity);
    if (!shown.length) [low, high] = [this.logarithmic ? 0.1 : 0, 1];
    if (fromZero && !this.logarithmic) low = Math.min(0, low);
    this.height = width < 420 ? 200 : 230;
    this.bottom = this.height - 26;
    this.y = this.logarithmic ? logScale(low, high, this.bottom, 10) : linearScale(low, high, this.bottom, 10, { wanted: 5 });
    this.left = Math.ceil(Math.max(28, ...this.y.ticks.map(tick => textWidth(this.options.format(tick))))) + 10;
    this.right = width - 12;
    const ends = lines.flatMap(line => this.xOf(line));
    this.x = linearScale(Math.min(...ends), Math.max(...ends), this.left, this.right, { wanted: (this.right - this.left) / 90, whole: true, round: false });
  }

  draw(width) {
    this.scales(width);
    const nodes = this.y.ticks.map(tick => [
      make('path', { class: 'rule', d: `M${this.left} ${this.y.at(tick).toFixed(1)}H${this.right}` }),
      make('text', { x: this.left - 8, y: (this.y.at(tick) + 4).toFixed(1), 'text-anchor': 'end' }, this.options.format(tick))]);
    nodes.push(make('path', { class: 'axis', d: `M${this.left} ${this.bottom}H${this.right}` }), make('text', { x: 0, y: this.height - 7 }, 'step'));
    for (const tick of this.x.ticks) {
      const label = asCount(tick), half = textWidth(label) / 2, x = this.x.at(tick);
      if (x - half < 30) continue; // there the axis has its name
      nodes.push(make('path', { class: 'axis', d: `M${x.toFixed(1)} ${this.bottom}v4` }),
        make('text', { x: Math.min(x, width - half - 1).toFixed(1), y: this.height - 7, 'text-anchor': 'middle' }, label));
    }
    const id = `clip-${this.box.getAttribute('aria-label').replace(/\W+/g, '-')}`;
    nodes.push(make('clipPath', { id }, make('rect', { x: this.left - 6, y: 4, width: Math.max(0, this.right - this.left + 12), height: this.bottom - 4 })),
      make('g', { 'clip-path': `url(#${id})` }, this.data.lines.map(line => this.drawn(line))));
    this.label();
    return nodes.flat();
  }

  drawn(line) {
    const xs = this.xOf(line), point = (values, i) => `${this.x.at(xs[i]).toFixed(1)} ${this.y.at(values[i]).toFixed(1)}`;
    const there = values => xs.map((_, i) => i).filter(i => known(values[i]) && Number.isFinite(this.y.at(values[i])));
    if (line.look === 'band') {
      const both = there(line.y).filter(i => known(line.high[i]) && Number.isFinite(this.y.at(line.high[i])));
      const back = [...both].reverse();
      return both.length > 1 ? make('path', { class: `band ${line.color}`, d: `M${both.map(i => point(line.high, i)).join('L')}L${back.map(i => point(line.y, i)).join('L')}Z` }) : null;
    }
    const indices = there(line.y);
    const path = indices.map((i, at) => `${at && indices[at - 1] === i - 1 || at && line.x ? 'L' : 'M'}${point(line.y, i)}`).join('');
    const few = indices.length < (line.look === 'dots' ? 61 : 2);
    return make('g', { class: `${line.look} ${line.color}` }, make('path', { class: 'curve', d: path }),
      few ? indices.map(i => this.dot(line, this.x.at(xs[i]), this.y.at(line.y[i]))) : null);
  }

  // Measured points are circles, those of the test set diamonds.
  dot(line, x, y) {
    const [left, top] = [x.toFixed(1), y.toFixed(1)];
    return line.mark === 'diamond' ? make('path', { class: 'dot', d: `M${left} ${(y - 5).toFixed(1)}l5 5-5 5-5-5z` }) : make('circle', { class: 'dot', cx: left, cy: top, r: 3.5 });
  }

  // What a line says at an x: the point there, or the last one before.
  valueAt(line, x) {
    const xs = this.xOf(line);
    let index = xs.length - 1;
    while (index >= 0 && (xs[index] > x || line.x && !known(line.y[index]))) --index;
    if (index < 0) return unknown;
    const format = this.options.format;
    return line.look === 'band' ? known(line.y[index]) ? `${format(line.y[index])} – ${format(line.high[index])}` : unknown : format(line.y[index]);
  }

  label() {
    const at = this.followed ?? (this.stop === null ? Infinity : this.data.x[this.stop]);
    legend(this.names, this.data.lines.filter(line => !line.unnamed)
      .map(line => [line.name, line.mark || line.look, line.color, line.look === 'band' ? null : this.valueAt(line, at)]));
  }

  nearest(x) {
    let best = 0;
    this.data.x.forEach((value, index) => {
      if (Math.abs(this.x.at(value) - x) < Math.abs(this.x.at(this.data.x[best]) - x)) best = index;
    });
    return best;
  }

  place(stop) { return { x: this.x.at(this.data.x[stop]), y: 8 }; }

  says(stop) {
    const x = this.data.x[stop], { epoch } = this.data;
    return { title: `step ${asCount(x)}${epoch && known(epoch[stop]) ? `, epoch ${asCount(Math.floor(epoch[stop]) + 1)}` : ''}`,
      rows: this.data.lines.map(line => [line.name, this.valueAt(line, x), `${line.mark || line.look} ${line.color}`]) };
  }

  marks(stop) { return this.cross(this.data.x[stop], stop); }

  cross(value, stop) {
    const x = this.x.at(value).toFixed(1);
    return [make('path', { class: 'cursor', d: `M${x} 10V${this.bottom}` }), ...this.data.lines
      .filter(line => !line.x && line.look !== 'band' && known(line.y[stop]) && Number.isFinite(this.y.at(line.y[stop])))
      .map(line => make('circle', { class: `dot ${line.color}`, cx: x, cy: this.y.at(line.y[stop]).toFixed(1), r: 4 }))];
  }

  move(stop) {
    super.move(stop);
    this.followed = null;
    if (!this.x) return;
    this.label();
    for (const other of LineChart.all) if (other !== this) other.follow(this.stop === null ? null : this.data.x[this.stop]);
  }

  follow(x) {
    if (!this.data || !this.x || !this.data.x.length || !this.box.isConnected) return;
    this.followed = x;
    const stop = x === null ? null : this.nearest(this.x.at(x));
    show(this.pointer, x === null ? null : this.cross(this.data.x[stop], stop));
    this.label();
  }
}
LineChart.all = new Set();

// The weighted mean of what came before, once there is enough to smooth.
function smoothed(values) {
  if (values.filter(known).length < 25) return null;
  const weight = 1 / Math.max(3, values.length / 30);
  let mean = null;
  return values.map(value => {
    if (known(value)) mean = mean === null ? value : mean + weight * (value - mean);
    return known(value) ? mean : null;
  });
}
