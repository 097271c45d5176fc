// A part of the page: a card with a title. `build(body, tools)` makes what is in it once and returns
// update(document), which says whether there is something to show: true, false, or a sentence instead. `local`: it is about
// this process, and so also on the page of a node that does not lead.

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

  // Does nothing where all that was read the last time is the same: what changes of a document is replaced.
  update(whole) {
    if (this.read && [...this.read].every(([key, value]) => whole[key] === value)) return this.there;
    const read = this.read = new Map();
    // A card is there before it is drawn: a chart is as wide as its card.
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
