// Base of all charts: draws at the available width, with a cursor that follows the pointer and the
// arrow keys and shows the values at its stop.

class Chart {
  // A subclass defines draw(width): nodes; stops(): the number of cursor stops; nearest(x, y): a
  // stop; place(stop): its position; says(stop): {title, rows: [[name, value, colour class]]};
  // marks(stop): nodes that mark it.
  constructor(host, label) {
    this.stop = null;
    this.plot = make('g');
    this.pointer = make('g');
    this.svg = make('svg', { 'aria-hidden': 'true' }, this.plot, this.pointer);
    this.tip = make('div', { class: 'tip', hidden: true });
    this.box = make('div', { class: 'chart', tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': label,
      'aria-describedby': 'keys' }, this.svg, this.tip);
    host.append(this.box);
    this.box.addEventListener('keydown', event => this.pressed(event));
    this.box.addEventListener('blur', () => this.move(null));
    for (const name of ['pointermove', 'pointerdown']) this.svg.addEventListener(name, event => this.pointed(event));
    this.svg.addEventListener('pointerleave', () => this.move(null));
    new ResizeObserver(([entry]) => {
      this.wide = Math.floor(entry.contentRect.width);
      this.redraw();
    }).observe(this.box);
  }

  set(data) {
    this.data = data;
    this.redraw();
  }

  redraw() {
    // Reads the width once: reading it after each change would lay out the whole page again.
    const width = this.wide ||= Math.floor(this.box.clientWidth);
    if (!width || !this.data) return;
    this.plot.replaceChildren(...this.draw(width).filter(given));
    this.svg.setAttribute('width', width);
    this.svg.setAttribute('height', this.height);
    if (this.stop !== null) this.move(Math.min(this.stop, this.stops() - 1));
  }

  pointed(event) {
    const area = this.svg.getBoundingClientRect();
    if (this.data && this.stops()) this.move(this.nearest(event.clientX - area.left, event.clientY - area.top));
  }

  // The stop that a key moves to.
  next(key, stop) {
    const last = this.stops() - 1;
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
    if (key === 'Home') return 0;
    if (key === 'End') return last;
    if (!(key in steps)) return null;
    return stop === null ? last : Math.max(0, Math.min(last, stop + steps[key]));
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.data || !this.stops()) return;
    if (event.key === 'Escape') return this.move(null);
    const stop = this.next(event.key, this.stop);
    if (stop === null) return;
    event.preventDefault();
    this.move(stop);
    const { title, rows } = this.says(stop);
    announce(`${title}: ${rows.map(([name, value]) => `${name} ${value}`).join(', ')}`);
  }

  move(stop) {
    this.stop = stop === null || stop < 0 ? null : stop;
    this.tip.hidden = this.stop === null;
    show(this.pointer, this.stop === null ? null : this.marks(this.stop));
    if (this.stop === null) return;
    const { title, rows } = this.says(this.stop);
    show(this.tip, make('b', null, title), rows.map(([name, value, color]) =>
      make('div', null, make('i', { class: `swatch ${color}` }), make('span', null, name), make('span', null, value))));
    const { x, y } = this.place(this.stop);
    const room = this.box.clientWidth - this.tip.offsetWidth;
    const beside = x + 14 > room ? x - this.tip.offsetWidth - 14 : x + 14;
    this.tip.style.left = `${Math.max(0, Math.min(room, beside))}px`;
    this.tip.style.top = `${Math.max(0, Math.min(y, this.height - this.tip.offsetHeight))}px`;
  }
}

// The meaning of a chart's colours and shapes: [name, look, colour class, value].
function legend(host, items) {
  show(host, items.map(([name, look, color, value]) => make('li', null, make('i', { class: `swatch ${look} ${color}` }), name,
    value ? make('b', null, value) : null)));
}
