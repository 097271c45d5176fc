// The bar at the top: links to the groups, age of the data, light or dark theme.

function themeButton() {
  const next = { auto: 'light', light: 'dark', dark: 'auto' }, signs = { auto: '◐', light: '☀', dark: '☾' };
  const now = () => document.documentElement.dataset.theme || 'auto';
  const sign = make('span', { 'aria-hidden': 'true' });
  const element = button(sign, () => {
    document.documentElement.dataset.theme = next[now()];
    try { localStorage.setItem('troupe-theme', now()); } catch { } // not allowed: lasts until the page is closed
    told();
    announce(element.getAttribute('aria-label'));
  }, { class: 'icon' });
  const told = () => {
    sign.textContent = signs[now()];
    element.title = `Colours: ${now() === 'auto' ? 'follow the system' : now()}`;
    element.setAttribute('aria-label', element.title);
  };
  told();
  return element;
}

class Bar {
  constructor(host, live) {
    this.links = make('nav', { 'aria-label': 'Sections of the page' });
    this.state = make('p', { class: 'state', role: 'status' });
    this.age = make('span', { class: 'age' });
    const download = live ? make('a', { href: 'report.html', download: '', class: 'button', title: 'Save the current page as a file' }, 'Save') : null;
    host.append(make('div', { class: 'inner' }, make('a', { class: 'brand', href: '#content' }, make('span', { class: 'mark', 'aria-hidden': 'true' }, make('i'), make('i'), make('i')), 'troupe'),
      this.links, make('div', { class: 'fresh' }, this.state, this.age), download, themeButton()));
  }

  groups(names) {
    show(this.links, names.map(name => make('a', { href: `#${groupId(name)}` }, name)));
  }

  say(kind, text, age) {
    if (this.state.className !== `state ${kind}`) this.state.className = `state ${kind}`;
    if (this.state.textContent !== text) this.state.textContent = text;
    this.age.textContent = age || '';
  }
}

const groupId = name => `part-${name.toLowerCase().replace(/\W+/g, '-')}`;
