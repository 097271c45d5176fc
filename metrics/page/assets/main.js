// Builds the page from its sections for the kind of document, and decides when they are drawn.

class Page {
  constructor(live) {
    this.host = document.getElementById('content');
    this.bar = new Bar(document.getElementById('bar'), live);
    this.live = live;
    this.top = make('div', { class: 'hero' });
    this.host.append(this.top, make('p', { id: 'keys', class: 'unseen' }, 'Arrow keys move through the values; Home and End jump to the first and the last.'));
    document.addEventListener('visibilitychange', () => this.plan());
    if (live) setInterval(() => { if (!document.hidden) this.tellState(); }, 1000);
  }

  build(kind) {
    this.kind = kind;
    this.groups = new Map();
    this.sections = (kind === 'comparison' ? comparison : [...learning, ...speed, ...workers, ...cluster, ...record]).map(each => new Section(each));
    for (const { group } of this.sections)
      if (!this.groups.has(group)) {
        const grid = make('div', { class: 'grid' }), heading = make('h2', { id: groupId(group) }, group);
        this.groups.set(group, { grid, element: make('section', { class: 'part', 'aria-labelledby': groupId(group) }, heading, grid), hidden: true });
        this.host.append(this.groups.get(group).element);
      }
    for (const each of this.sections) this.groups.get(each.group).grid.append(each.element);
  }

  // Receives a document. A hidden tab only updates its title.
  take({ whole, lost, over }) {
    if (!lost && !over) this.since = performance.now();
    Object.assign(this, { whole, lost, over });
    this.tellTitle();
    this.plan();
  }

  plan() {
    if (this.planned || document.hidden) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.draw();
    });
  }

  draw() {
    this.tellState();
    const { whole } = this;
    if (!whole) return;
    if (!this.kind) this.build(whole.kind);
    show(this.top, whole.kind === 'comparison' ? comparisonHero(whole) : hero(whole));
    for (const each of this.sections) follows(whole) && !each.local ? each.hide() : each.update(whole);
    const shown = [];
    for (const [name, { element }] of this.groups) {
      element.hidden = !this.sections.some(each => each.group === name && each.there);
      if (!element.hidden) shown.push(name);
    }
    this.bar.groups(shown);
    document.body.dataset.drawn = Number(document.body.dataset.drawn || 0) + 1;
  }

  tellTitle() {
    const { whole } = this;
    if (!whole) return;
    const name = whole.title || (whole.status === 'waiting' ? null : (whole.run || {}).name) || 'troupe', done = shareDone(whole);
    const before = whole.kind === 'comparison' ? '' : ended(whole.status) ? `${states[whole.status]} ${whole.status}: ` : done === null ? `${whole.status}: ` : `${(100 * done).toFixed(0)}% `;
    document.title = name === 'troupe' ? `${before}troupe` : `${before}${name} – troupe`;
  }

  tellState() {
    const { whole, lost, over } = this, age = this.since === undefined ? null : (performance.now() - this.since) / 1000;
    if (!this.live) return this.bar.say('still', `generated ${asMinute(whole.made)}`);
    if (lost) this.bar.say('lost', 'connection lost, reconnecting', age === null ? '' : `data ${asAge(age)} old`);
    else if (over) this.bar.say('still', 'the run has ended', '');
    else if (!whole) this.bar.say('lost', 'connecting', '');
    else this.bar.say('live', ended(whole.status) ? 'the run has ended' : 'live', age < 3 ? '' : `${asAge(age)} ago`);
  }
}

const inlined = document.getElementById('document').textContent.trim();
const page = new Page(!inlined);
if (inlined) page.take({ whole: JSON.parse(inlined) });
else {
  page.tellState();
  follow(news => page.take(news));
}
