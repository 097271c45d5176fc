// Learning: curves over steps, and epochs.

const yet = whole => ended(whole.status) || whole.status === 'waiting' ? false : 'No step yet.';
const samplesOf = whole => capitalized((whole.run || {}).sample_name || 'samples');
const tokensOf = whole => (whole.run || {}).tokens_per_sample || 0;
// For texts, speed is in tokens, and losses are also shown as perplexities.
const itemsOf = whole => tokensOf(whole) ? 'Tokens' : samplesOf(whole);
const inUnits = (whole, rate) => known(rate) ? rate * (tokensOf(whole) || 1) : rate;
const perplexityOf = loss => known(loss) ? Math.exp(loss) : null;
// The x of an epoch is its last step. Records of earlier versions have none: it is computed from
// the run's plan.
const endOf = ({ run }, { epoch, step }) => step ?? Math.min((epoch + 1) * (run?.steps_per_epoch || 1), run?.total_steps || Infinity) - 1;

function epochLines(whole, train, test, value = number => number) {
  const epochs = list(whole.epochs), x = epochs.map(epoch => endOf(whole, epoch));
  const line = (name, key, color, mark) => ({ name, x, y: epochs.map(epoch => value(epoch[key])), look: 'dots', color, mark });
  return [line('training, mean of the epoch', train, 'c2', 'circle'), line('test', test, 'c1', 'diamond')].filter(each => hasValues(each.y));
}

// Lines that are 0 everywhere get no chart.
const isNothing = lines => lines.every(line => line.y.every(value => !known(value) || value === 0));
const allOf = columns => [...new Set(columns.flat())].sort((a, b) => a - b);

function curve(body, tools, label, options, lines) {
  const chart = new LineChart(body, label, options);
  if (options && options.logarithm) {
    const toggle = button('log', () => {
      chart.logarithmic = !chart.logarithmic;
      toggle.setAttribute('aria-pressed', chart.logarithmic);
      chart.redraw();
    }, { 'aria-pressed': 'false', 'aria-label': `Logarithmic axis: ${label}` });
    tools.append(toggle);
  }
  return whole => {
    const drawn = lines(whole).filter(line => hasValues(line.y));
    if (isNothing(drawn)) return false;
    const x = columnOf(whole, 'step');
    chart.set({ x: x.length ? x : allOf(drawn.map(line => line.x)), lines: drawn, epoch: columnOf(whole, 'epoch') });
    return true;
  };
}

// A noisy column: faint points, and the smoothed curve above them.
function noisy(name, values, color) {
  const course = smoothed(values);
  return course ? [{ name: 'each point', y: values, look: 'faint', color }, { name: `${name}, smoothed`, y: course, look: 'line', color }]
                : [{ name, y: values, look: 'line', color }];
}

const plainCurve = (key, name, options) => (body, tools) =>
  curve(body, tools, `${name} by step`, options, whole => [{ name: name.toLowerCase(), y: columnOf(whole, key), look: 'line', color: 'c0' }]);

const learning = [
  section('Learning', 'Loss', (body, tools) => {
    const update = curve(body, tools, 'Loss by step', { format: asLoss, logarithm: true }, whole => [
      ...(whole.steps && whole.steps.per_point > 1 ? [{ name: 'lowest to highest', y: columnOf(whole, 'loss_low'), high: columnOf(whole, 'loss_high'), look: 'band', color: 'c0' }] : []),
      ...noisy('training batch', columnOf(whole, 'loss'), 'c0'), ...epochLines(whole, 'train_loss', 'test_loss')]);
    return whole => update(whole) || yet(whole);
  }),
  section('Learning', 'Accuracy', (body, tools) => curve(body, tools, 'Accuracy by step', { format: asPercent }, whole =>
    [...noisy('training batch', columnOf(whole, 'accuracy'), 'c0'), ...epochLines(whole, 'train_accuracy', 'test_accuracy')])),
  section('Learning', 'Perplexity', (body, tools) => curve(body, tools, 'Perplexity by step', { format: asPerplexity, logarithm: true }, whole => tokensOf(whole)
    ? [...noisy('training batch', columnOf(whole, 'loss').map(perplexityOf), 'c0'), ...epochLines(whole, 'train_loss', 'test_loss', perplexityOf)] : [])),
  section('Learning', 'Generated text', body => ({ generated }) => {
    if (!list(generated).length) return false;
    show(body, ...[...generated].reverse().map(({ step, prompt, text }) => make('figure', { class: 'written' },
      make('figcaption', null, `after step ${asCount(step)}`), make('pre', { tabindex: 0 }, make('b', null, prompt), text))));
    return true;
  }, { wide: true }),
  section('Learning', 'Learning rate', plainCurve('lr', 'Learning rate', { fromZero: true })),
  section('Learning', 'Gradient norm', (body, tools) => curve(body, tools, 'Gradient norm by step', { logarithm: true }, whole =>
    noisy('norm before clipping', columnOf(whole, 'gradient_norm'), 'c3'))),
  section('Learning', 'Loss scale', (body, tools, heading) => {
    const update = plainCurve('loss_scale', 'Loss scale', { fromZero: true, logarithm: true })(body, tools);
    const note = make('p', { class: 'note' });
    body.append(note);
    return whole => {
      const skipped = (whole.progress || {}).skipped_steps;
      note.textContent = skipped ? `${plural(skipped, 'step')} skipped: gradients were not finite` : 'no step was skipped';
      return update(whole);
    };
  }),
  section('Learning', 'Epochs', body => whole => {
    const epochs = list(whole.epochs);
    if (!epochs.length) return ended(whole.status) || !columnOf(whole, 'step').length ? false : 'No epoch has ended yet.';
    const classes = epochs.some(epoch => known(epoch.train_accuracy) || known(epoch.test_accuracy));
    show(body, table('Epochs', [['Epoch', epoch => asCount(epoch.epoch + 1)], ['Training loss', epoch => asLoss(epoch.train_loss)],
      ...(classes ? [['Training accuracy', epoch => asPercent(epoch.train_accuracy)]] : []), ['Test loss', epoch => asLoss(epoch.test_loss)],
      ...(tokensOf(whole) ? [['Test perplexity', epoch => asPerplexity(perplexityOf(epoch.test_loss))]] : []),
      ...(classes ? [['Test accuracy', epoch => asPercent(epoch.test_accuracy)]] : []), ['Time', epoch => asSeconds(epoch.seconds)],
      ['Evaluation time', epoch => asSeconds(epoch.test_seconds)]], [...epochs].reverse()),
      epochs.some(epoch => known(epoch.test_loss)) ? null : make('p', { class: 'note' }, 'no evaluation yet'));
    return true;
  }, { wide: true }),
];
