// A histogram; data: {low, high, counts, median, p95}, in seconds.

class Histogram extends Chart {
  stops() { return this.data.counts.length; }

  range(bin) {
    const { low, high, counts } = this.data, width = (high - low) / counts.length;
    return [low + bin * width, low + (bin + 1) * width];
  }

  draw(width) {
    const { low, high, counts, median, p95 } = this.data, [unit, factor] = unitOf(high), top = 42;
    this.height = width < 420 ? 200 : 230;
    const bottom = this.bottom = this.height - 26;
    const y = linearScale(0, Math.max(1, ...counts), bottom, top, { whole: true }), left = gutter(y.ticks, asCount), right = width - 12;
    const x = linearScale(low * factor, high * factor, left, right, { wanted: (right - left) / 90, round: false });
    this.at = seconds => x.at(seconds * factor);
    const mark = (text, value, height, kind) => {
      if (!known(value)) return [];
      const at = Math.max(left, Math.min(right, this.at(value))), after = at + 6 + textWidth(text) < width;
      return [path(`mark ${kind}`, trace`M${at} ${height - 10}V${bottom}`), words(text, after ? at + 6 : at - 6, height, after ? 'start' : 'end', 'strong')];
    };
    return [...yAxis(y, left, right, asCount), ...counts.map((count, bin) => {
      const [from, to] = this.range(bin).map(this.at), high = Math.max(1, bottom - y.at(count));
      return count && box('c0 fill', from + 0.5, bottom - high, Math.max(1, to - from - 1), high);
    }).filter(Boolean), ...xAxis(x, left, right, bottom, unit, tick => digits(tick, 4)),
    ...mark(`median ${asSeconds(median)}`, median, 14, 'median'), ...mark(`95% within ${asSeconds(p95)}`, p95, 31, 'p95')];
  }

  nearest(x) {
    let bin = this.stops() - 1;
    while (bin > 0 && this.at(this.range(bin)[0]) > x) --bin;
    return bin;
  }

  place(bin) { return { x: this.at(this.range(bin)[0]), y: 40 }; }

  says(bin) {
    const all = sum(this.data.counts), count = this.data.counts[bin];
    return { title: this.range(bin).map(asSeconds).join(' – '), rows: [['steps', `${asCount(count)} (${asPercent(all ? count / all : null)})`, 'c0']] };
  }

  marks(bin) {
    const [from, to] = this.range(bin).map(this.at);
    return [box('band-cursor', from, 42, Math.max(2, to - from), this.bottom - 42)];
  }
}
