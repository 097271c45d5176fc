// One job in several modes, or existing runs: a table that marks the best value of each column, the
// runs' curves in one chart, and bars for each figure.

const modeName = run => run.name || `${run.strategy} ${run.precision}`;
// `better` chooses the best value: the highest or the lowest.
const figures = [
  { title: 'Time', key: 'seconds', format: asSeconds, better: Math.min },
  { title: 'Samples/s', key: 'samples_per_second', format: asRate, better: Math.max },
  { title: 'Tokens/s', key: 'tokens_per_second', format: asRate, better: Math.max },
  { title: 'Peak memory', key: 'peak_memory_bytes', format: asBytes, better: Math.min },
  { title: 'Busy', key: 'busy_ratio', format: asPercent, better: Math.max },
  { title: 'Overlap', key: 'overlap_ratio', format: asPercent, better: Math.max, of: run => run.workers > 1 ? run.overlap_ratio : null },
  { title: 'Training loss', key: 'loss', format: asLoss, better: Math.min },
  { title: 'Test accuracy', key: 'accuracy', format: asPercent, better: Math.max },
  { title: 'Test perplexity', key: 'perplexity', format: asPerplexity, better: Math.min },
];
const figureOf = (figure, run) => run.problem ? null : figure.of ? figure.of(run) : run[figure.key];

// Makes a link only of relative paths beside the page or below it.
const beside = path => typeof path === 'string' && !/^([a-z][a-z\d+.-]*:|\/|\\)/i.test(path) && !path.split('/').includes('..') ? path.split('/').map(encodeURIComponent).join('/') : null;
const link = (path, text) => beside(path) ? make('a', { href: beside(path) }, text) : null;
const filesOf = run => [link(run.report, 'report'), beside(run.report) && beside(run.log) ? ' · ' : null, link(run.log, 'log')];

// The best value of a figure, as formatted; null if all are equal. Several equal values may be the
// best.
function bestOf(figure, runs) {
  const values = runs.map(run => figureOf(figure, run)).filter(known);
  const best = values.length ? figure.format(figure.better(...values)) : null;
  return values.some(value => figure.format(value) !== best) ? best : null;
}

function comparisonTable(runs) {
  const named = runs.some(run => run.name), jobs = new Set(runs.map(run => run.job).filter(Boolean)).size > 1; // runs without figures have no job
  const columns = [...(named ? [['Run', modeName]] : []), ...(jobs ? [['Job', run => run.job || unknown, 'left']] : []),
    ['Strategy', run => run.strategy, named ? 'left' : null], ['Precision', run => run.precision, 'left'], ['Workers', run => asCount(run.workers)],
    ...figures.filter(figure => runs.some(run => known(figureOf(figure, run)))).map(figure => {
      const best = bestOf(figure, runs);
      return [figure.title, run => {
        const text = figure.format(figureOf(figure, run));
        return text === best ? make('b', { class: 'best' }, `${text} `, make('span', { class: 'tag' }, 'best')) : text;
      }];
    }), ...(runs.some(run => beside(run.report) || beside(run.log)) ? [['Files', filesOf, 'left']] : [])];
  const element = table('Comparison of runs', columns, runs.filter(run => !run.problem)), width = columns.length - 2;
  element.querySelector('tbody').append(...runs.filter(run => run.problem).map(run => make('tr', { class: 'problem' }, make('th', { scope: 'row' }, run.strategy), make('td', { class: 'left' }, run.precision),
    make('td', { class: 'left wrap', colspan: width - 1 }, make('b', null, '✕ no results: '), run.problem), make('td', { class: 'left' }, filesOf(run)))));
  return element;
}

// A line for each run. Step curves are smoothed if possible: several noisy ones would hide each
// other.
const overlaid = (whole, x, y, noise) => list(whole.runs).map((run, index) => {
  const values = list(run.curves?.[y]);
  return { name: modeName(run), x: list(run.curves?.[x]), y: noise && smoothed(values) || values, color: `c${index % 8}`, ...(index < 8 ? { look: 'line' } : { look: 'dots', mark: 'dashed' }) };
});

const comparison = [
  section('Runs', 'Results', body => ({ runs }) => {
    if (!list(runs).length) return 'No run yet.';
    show(body, comparisonTable(runs));
    return true;
  }, { wide: true }),
  ...[['Training loss', 'step', 'loss', { format: asLoss, logarithm: true }, true], ['Test loss', 'test_step', 'test_loss', { format: asLoss, logarithm: true }],
    ['Training accuracy', 'step', 'accuracy', { format: asPercent }, true], ['Test accuracy', 'test_step', 'test_accuracy', { format: asPercent }]]
    .map(([title, x, y, options, noise]) => section('Curves', `${title} by step`, (body, tools) => curve(body, tools, `${title} of each run by step`, options, whole => overlaid(whole, x, y, noise)))),
  ...figures.map(figure => section('Metrics', figure.title, body => {
    const chart = new Bars(within(body, 'rows'), `${figure.title} of each run`);
    return ({ runs }) => {
      const there = list(runs).filter(run => known(figureOf(figure, run))), best = bestOf(figure, there);
      if (!there.some(run => figureOf(figure, run) !== 0)) return false;
      chart.set({ parts: [[figure.title.toLowerCase(), 'c0']], format: figure.format, most: figure.format === asPercent ? 1 : 0,
        rows: there.map(run => {
          const value = figureOf(figure, run), text = figure.format(value);
          return { name: modeName(run), values: [value], text: text === best ? `best ${text}` : text };
        }) });
      return true;
    };
  })),
  section('About', 'Machine', body => ({ machine }) => {
    if (!machine) return false;
    show(body, facts([['Host', machine.host], ['Processor', machine.processor], ['Cores', asCount(machine.cores)], ['Instruction set', machine.instruction_set],
      ['Memory', asBytes(machine.memory_bytes)], ['GPUs', list(machine.gpus).join(', ') || 'none']]));
    return true;
  }, { wide: true }),
];

function comparisonHero(whole) {
  const without = list(whole.runs).filter(run => run.problem).length;
  return [make('div', { class: 'name' }, make('h1', null, whole.title || 'Comparison')),
    make('p', { class: 'about' }, [list(whole.runs).some(run => run.name) ? plural(list(whole.runs).length, 'run') : `the same job in ${plural(list(whole.runs).length, 'mode')}`, without ? `${asCount(without)} without results` : null, `generated ${asMinute(whole.made)}`,
      whole.machine?.host ? `on ${whole.machine.host}` : null, whole.version ? `troupe ${whole.version}` : null].filter(Boolean).map(text => make('span', null, text)))];
}
