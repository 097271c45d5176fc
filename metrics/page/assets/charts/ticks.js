// Axes with round tick values.

// 1, 2 or 5 times a power of ten.
function roundStep(length, wanted, whole) {
  const rough = length / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  const step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  return whole ? Math.max(1, step) : step;
}

// A linear scale from low to high on a line from `from` to `to`; `at` returns the position of a
// value.
function linearScale(low, high, from, to, { wanted = 4, whole = false, round = true } = {}) {
  if (!(high > low)) { // only one value, or none
    const room = Math.max(Math.abs(low) * 0.1, whole ? 0.5 : 1e-6);
    [low, high] = [low - room, high + room];
  }
  const step = roundStep(high - low, wanted, whole);
  if (round) [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); ++i) ticks.push(Number((i * step).toPrecision(12)) + 0); // no negative zero
  return { at: value => from + (value - low) / (high - low) * (to - from), ticks };
}

// Ticks at each power of ten; with few of them, also at 2 and 5 times it. Values up to zero have no
// position.
function logScale(low, high, from, to) {
  const [first, last] = [Math.log10(low), Math.log10(high > low ? high : low * 1.1)];
  const digits = last - first < 2.5 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((last - first) / 6));
  const ticks = [];
  for (let power = Math.floor(first); power <= last; power += every)
    for (const digit of digits) {
      const tick = digit * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  return { at: value => value > 0 ? from + (Math.log10(value) - first) / (last - first) * (to - from) : NaN, ticks };
}

const ruler = document.createElement('canvas').getContext('2d');
ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
const textWidth = text => ruler.measureText(text).width;

// The text, shortened to the room.
function fitted(text, room) {
  if (textWidth(text) <= room) return text;
  let length = Math.min(text.length, Math.floor(room / 4));
  while (length > 1 && textWidth(`${text.slice(0, length)}…`) > room) --length;
  return length > 1 ? `${text.slice(0, length)}…` : '';
}

// The y axis of a chart: grid lines, with values to the left.
const yAxis = (scale, left, right, format) => scale.ticks.flatMap(tick =>
  [path('rule', trace`M${left} ${scale.at(tick)}H${right}`), words(format(tick), left - 8, scale.at(tick) + 4, 'end')]);

// The width of a y axis's values.
const gutter = (ticks, format) => Math.ceil(Math.max(28, ...ticks.map(tick => textWidth(format(tick))))) + 10;

// The x axis, with its name in the corner, where no value fits.
const xAxis = (scale, left, right, bottom, name, format) => [path('axis', trace`M${left} ${bottom}H${right}`), words(name, 0, bottom + 19),
  ...scale.ticks.flatMap(tick => {
    const x = scale.at(tick), half = textWidth(format(tick)) / 2;
    return x - half < textWidth(name) + 6 ? [] : [path('axis', trace`M${x} ${bottom}v4`), words(format(tick), Math.min(x, right + 11 - half), bottom + 19, 'middle')];
  })];

const unitOf = seconds => seconds < 1e-3 ? ['µs', 1e6] : seconds < 1 ? ['ms', 1e3] : ['s', 1];
