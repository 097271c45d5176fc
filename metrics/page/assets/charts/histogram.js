// How often what was measured lay in which range; data: {low, high, counts, median, p95}, in seconds.

class Histogram extends Chart {
  stops() { return this.data.counts.length; }

  range(bin) {
    const { low, high, counts } = this.data, width = (high - low) / counts.length;
    return [low + bin * width, low + (bin + 1) * width];
  }

  draw(width) {
    const { low, high, counts, median, p95 } = this.data;
    const [unit, factor] = high < 1e-3 ? ['µs', 1e6] : high < 1 ? ['ms', 1e3] : ['s', 1];
    this.height = width < 420 ? 200 : 230;
    const bottom = this.bottom = this.height - 26, top = 42;
    this.y = linearScale(0, Math.max(1, ...counts), bottom, top, { wanted: 4, whole: true });
    const left = Math.ceil(Math.max(28, ...this.y.ticks.map(tick => textWidth(asCount(tick))))) + 10, right = width - 12;
    this.x = linearScale(low * factor, high * factor, left, right, { wanted: (right - left) / 90, round: false });
    this.at = seconds => this.x.at(seconds * factor);
    const nodes = this.y.ticks.map(tick => [
      make('path', { class: 'rule', d: `M${left} ${this.y.at(tick).toFixed(1)}H${right}` }),
      make('text', { x: left - 8, y: (this.y.at(tick) + 4).toFixed(1), 'text-anchor': 'end' }, asCount(tick))]).flat();
    counts.forEach((count, bin) => {
      const [from, to] = this.range(bin).map(this.at);
      if (count) nodes.push(make('rect', { class: 'c0 fill', x: (from + 0.5).toFixed(1), width: Math.max(1, to - from - 1).toFixed(1),
        y: Math.min(bottom - 1, this.y.at(count)).toFixed(1), height: Math.max(1, bottom - this.y.at(count)).toFixed(1) }));
    });
    nodes.push(make('path', { class: 'axis', d: `M${left} ${bottom}H${right}` }), make('text', { x: 0, y: this.height - 7 }, unit));
    for (const tick of this.x.ticks)
      if (this.x.at(tick) > left + 8) nodes.push(make('text', { x: Math.min(this.x.at(tick), width - textWidth(digits(tick, 4)) / 2 - 1).toFixed(1), y: this.height - 7, 'text-anchor': 'middle' }, digits(tick, 4)));
    [[`median ${asSeconds(median)}`, median, 14, 'median'], [`95% within ${asSeconds(p95)}`, p95, 31, 'p95']].forEach(([text, value, y, kind]) => {
      if (!known(value)) return;
      const x = Math.max(left, Math.min(right, this.at(value))), after = x + 6 + textWidth(text) < width;
      nodes.push(make('path', { class: `mark ${kind}`, d: `M${x.toFixed(1)} ${y - 10}V${bottom}` }),
        make('text', { class: 'strong', x: (after ? x + 6 : x - 6).toFixed(1), y, 'text-anchor': after ? 'start' : 'end' }, text));
    });
    return nodes;
  }

  nearest(x) {
    let bin = this.stops() - 1;
    while (bin > 0 && this.at(this.range(bin)[0]) > x) --bin;
    return bin;
  }

  place(bin) { return { x: this.at(this.range(bin)[0]), y: 40 }; }

  says(bin) {
    const all = sum(this.data.counts), count = this.data.counts[bin];
    return { title: this.range(bin).map(asSeconds).join(' – '), rows: [['steps', `${asCount(count)} (${asPercent(all ? count / all : null)})`, 'block c0']] };
  }

  marks(bin) {
    const [from, to] = this.range(bin).map(this.at);
    return [make('rect', { class: 'band-cursor', x: from.toFixed(1), width: Math.max(2, to - from).toFixed(1), y: 42, height: this.bottom - 42 })];
  }
}
