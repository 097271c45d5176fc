// Creates elements, and updates existing ones.

const drawnTags = new Set(['svg', 'g', 'path', 'rect', 'line', 'circle', 'text', 'clipPath']);
// Rounds coordinates to a tenth of a pixel.
const tenth = value => typeof value === 'number' ? Math.round(value * 10) / 10 : value;
const given = child => child !== null && child !== undefined && child !== false;

// A child that is not an element becomes text, never markup, so that no name of a run can inject
// markup.
function make(tag, attributes, ...children) {
  const element = drawnTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (typeof value === 'function') element[name] = value;
    else if (name === 'style') entries(value).forEach(([property, text]) => element.style.setProperty(property, text));
    else if (given(value)) element.setAttribute(name, value === true ? '' : tenth(value));
  element.append(...children.flat(2).filter(given));
  return element;
}

// Makes `children` the children of `host`, and changes only differences: nothing flickers, and
// focus and selections stay. Elements with event handlers are created once, outside of such hosts.
function show(host, ...children) {
  const wanted = [...make('div', null, ...children).childNodes];
  wanted.forEach((next, index) => {
    const now = host.childNodes[index];
    if (!now) host.append(next);
    else if (!become(now, next)) now.replaceWith(next);
  });
  while (host.childNodes.length > wanted.length) host.lastChild.remove();
}

function become(now, next) {
  if (now.nodeName !== next.nodeName) return false;
  if (now.nodeType === Node.TEXT_NODE) {
    if (now.data !== next.data) now.data = next.data;
    return true;
  }
  for (const { name } of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
  for (const { name, value } of next.attributes) if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  show(now, ...next.childNodes);
  return true;
}

// Announces a change to screen readers.
function announce(text) {
  document.getElementById('announcer').textContent = text;
}

function button(label, action, attributes) {
  return make('button', { type: 'button', onclick: action, ...attributes }, label);
}

// A table that scrolls sideways, also by keyboard; a long one also scrolls vertically. Columns:
// [title, row => content, class].
function table(label, columns, rows) {
  return make('div', { class: rows.length > 20 ? 'scroll long' : 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
    make('table', null,
      make('thead', null, make('tr', null, columns.map(([title, , kind]) => make('th', { scope: 'col', class: kind }, title)))),
      make('tbody', null, rows.map(row => make('tr', null, columns.map(([, content, kind], index) =>
        make(index ? 'td' : 'th', { scope: index ? null : 'row', class: kind }, content(row))))))));
}

// A ratio as a short bar with its number.
function meter(ratio, text) {
  return known(ratio) ? [make('span', { class: 'meter', 'aria-hidden': 'true' },
    make('i', { style: { width: `${Math.min(100, Math.max(0, 100 * ratio)).toFixed(1)}%` } })), text] : unknown;
}

const trace = (texts, ...values) => String.raw({ raw: texts }, ...values.map(tenth));
const path = (kind, d) => make('path', { class: kind, d });
const box = (kind, x, y, width, height, rx) => make('rect', { class: kind, x, y, width: Math.max(0, width), height, rx });
const words = (text, x, y, anchor, kind) => make('text', { x, y, 'text-anchor': anchor, class: kind }, text);

// Appends a new element of a class to another one.
function within(host, kind) {
  const element = make('div', { class: kind });
  host.append(element);
  return element;
}
