// A card of the page, with a title. `build(body, tools)` creates its elements once and returns
// update(document). update returns true if there is something to show, false if not, or a sentence
// to show instead. `local`: it is about this process, so it is also shown by a node that does not
// lead.

const section = (group, title, build, options) => ({ group, title, build, ...options });

class Section {
  constructor({ group, title, build, wide, local }) {
    Object.assign(this, { group, title, local });
    const id = `of-${title.toLowerCase().replace(/\W+/g, '-')}`;
    this.tools = make('div', { class: 'tools' });
    this.heading = make('h3', { id }, title);
    this.body = make('div', { class: 'body' });
    this.quiet = make('p', { class: 'quiet', hidden: true });
    this.element = make('section', { class: wide ? 'card wide' : 'card', 'aria-labelledby': id },
      make('div', { class: 'head' }, this.heading, this.tools), this.body, this.quiet);
    this.refresh = build(this.body, this.tools, this.heading);
  }

  hide() {
    this.read = null;
    this.there = false;
    this.element.hidden = true;
  }

  // Does nothing if all values read the last time are identical: changes of a document replace
  // values.
  update(whole) {
    if (this.read && [...this.read].every(([key, value]) => whole[key] === value)) return this.there;
    const read = this.read = new Map();
    // Shows the card before drawing: a chart takes the width of its card.
    this.element.hidden = false;
    const said = this.refresh(new Proxy(whole, { get: (_, key) => read.set(key, whole[key]).get(key) }));
    this.element.hidden = !said;
    const sentence = typeof said === 'string';
    this.there = Boolean(said);
    if (sentence) this.quiet.textContent = said;
    this.quiet.hidden = !sentence;
    this.body.hidden = this.tools.hidden = sentence;
    return this.there;
  }
}
