// Formats numbers like the program's console. Unknown values become a dash.
const unknown = '–';
const known = value => typeof value === 'number' && Number.isFinite(value);
const readable = format => value => known(value) ? format(value) : unknown;
const digits = (value, count) => String(Number(value.toPrecision(count)));
// Without trailing zeros.
const scientific = (value, count) => value.toExponential(count - 1).replace(/\.?0+e/, 'e');
const smallestWrittenOut = 1e-4;
const two = value => String(value).padStart(2, '0');

const asCount = readable(value => Math.round(value).toLocaleString('en-US'));
const asPercent = readable(ratio => `${(100 * ratio).toFixed(1)}%`);
const asShortPercent = readable(ratio => `${digits(100 * ratio, 4)}%`);
const asRate = readable(value => value < 100 ? value.toFixed(1) : asCount(value));
const asNumber = readable(value => {
  const size = Math.abs(value);
  if (size !== 0 && size < smallestWrittenOut) return scientific(value, 2);
  return size >= 1e6 ? `${digits(value / 1e6, 4)}M` : size >= 1e4 ? `${digits(value / 1e3, 4)}k` : digits(value, 4);
});
const asLoss = readable(value => {
  const size = Math.abs(value);
  if (size !== 0 && size < smallestWrittenOut) return scientific(value, 3);
  return size !== 0 && size < 0.01 ? digits(value, 3) : size < 100 ? value.toFixed(4) : digits(value, 5);
});

// Above 1 shows "above 100%" and the possible reasons, without a number: no device exceeds its
// peak.
const asMfu = readable(ratio => ratio > 1 ? 'above 100% (Winograd, or peak measured too low)' : asPercent(ratio));
const asOperations = readable(value => value >= 1e12 ? `${digits(value / 1e12, 3)} TFLOP/s` : `${digits(value / 1e9, 3)} GFLOP/s`);

const asPerplexity = readable(value => value < 100 ? value.toFixed(2) : asRate(value));

const asBytes = readable(value => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; value >= 1024 && unit + 1 < units.length; ++unit) value /= 1024;
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
});

const asSeconds = readable(value => {
  if (value < 1e-3) return `${digits(1e6 * value, 3)} µs`;
  if (value < 1) return `${digits(1e3 * value, 3)} ms`;
  if (value < 60) return `${digits(value, 3)} s`;
  const whole = Math.round(value), minutes = Math.floor(whole / 60);
  if (whole < 3600) return `${minutes} min ${two(whole % 60)} s`;
  return `${asCount(Math.floor(whole / 3600))} h ${two(minutes % 60)} min`;
});

const asAge = readable(value => value < 1 ? 'now' : value < 60 ? `${Math.floor(value)} s` : asSeconds(value));

// RFC 3339, cut to seconds or minutes.
const asMinute = time => typeof time === 'string' && time.length >= 16 ? `${time.slice(0, 10)} ${time.slice(11, 16)} UTC` : unknown;
const asClock = time => typeof time === 'string' && time.length >= 19 ? time.slice(11, 19) : '';

const plural = (count, noun) => `${asCount(count)} ${noun}${count === 1 ? '' : 's'}`;
const capitalized = text => text ? text[0].toUpperCase() + text.slice(1) : text;
const sum = values => values.reduce((all, value) => all + (known(value) ? value : 0), 0);
// Lists and objects of a document; empty if the key is missing.
const list = value => Array.isArray(value) ? value : [];
const entries = value => value && typeof value === 'object' ? Object.entries(value) : [];
