// The top of a run's page: name, state and progress.

// Each state has a symbol besides its colour.
const states = { waiting: '◌', starting: '◔', training: '●', evaluating: '◐', saving: '▣', running: '●', completed: '✓', stopped: '■', interrupted: '▲', failed: '✕' };
const moods = { completed: 'good', failed: 'bad', stopped: 'warn', interrupted: 'warn', waiting: 'calm' };

const badge = status => make('span', { class: `badge ${moods[status] || 'active'}` }, make('span', { 'aria-hidden': 'true' }, states[status] || '●'), ` ${status}`);

function spark(values) {
  const there = list(values).map((value, index) => [index, value]).filter(([, value]) => known(value)).slice(-120);
  if (there.length < 2) return null;
  const [first, last] = [there[0][0], there.at(-1)[0]], low = Math.min(...there.map(point => point[1])), high = Math.max(...there.map(point => point[1]));
  const at = ([index, value]) => `${(1 + (index - first) / (last - first) * 98).toFixed(1)} ${(22 - (high > low ? (value - low) / (high - low) : 0.5) * 20).toFixed(1)}`;
  return make('svg', { class: 'spark', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, make('path', { d: `M${there.map(at).join('L')}` }));
}

// The tile shows the last evaluation, and an earlier one if it was better.
function bestBefore(epochs, now) {
  const best = Math.max(...epochs.map(epoch => epoch.test_accuracy).filter(known));
  return best > now.test_accuracy ? `best ${asPercent(best)}, ` : '';
}

function tiles(whole) {
  const now = whole.progress || {}, run = whole.run || {}, epochs = list(whole.epochs), steps = name => columnOf(whole, name);
  const texts = tokensOf(whole) > 0;
  const classes = !texts && (hasValues(steps('accuracy')) || known(now.accuracy) || known(now.test_accuracy) || !known(now.test_loss));
  const peaks = list(whole.workers).map(worker => worker.peak_memory_bytes || 0), peak = Math.max(0, ...peaks);
  const limit = list(whole.workers)[peaks.indexOf(peak)]?.memory_limit_bytes;
  const tile = (name, value, beside, line) => make('div', { 'data-tile': name }, make('dt', null, name), make('dd', null, make('strong', null, value), beside ? make('span', null, beside) : null), line);
  return make('dl', { class: 'tiles' },
    tile('Training loss', asLoss(now.loss), texts && known(now.loss) ? `perplexity ${asPerplexity(perplexityOf(now.loss))}` : 'last step', spark(smoothed(steps('loss')) || steps('loss'))),
    classes ? tile('Training accuracy', asPercent(now.accuracy), 'last step', spark(smoothed(steps('accuracy')) || steps('accuracy'))) : null,
    classes ? tile('Test accuracy', asPercent(now.test_accuracy), known(now.test_loss) ? `${bestBefore(epochs, now)}loss ${asLoss(now.test_loss)}` : 'no evaluation yet', spark(epochs.map(epoch => epoch.test_accuracy)))
            : tile('Test loss', asLoss(now.test_loss), texts && known(now.test_loss) ? `perplexity ${asPerplexity(perplexityOf(now.test_loss))}` : null, spark(epochs.map(epoch => epoch.test_loss))),
    tile(`${itemsOf(whole)}/s`, asRate(inUnits(whole, now.samples_per_second)), known(now.mfu) ? [`MFU ${asMfu(now.mfu)}`, known(now.operations_per_second) ? asOperations(now.operations_per_second) : null].filter(given).join(', ') : null, spark(smoothed(steps('samples_per_second')) || steps('samples_per_second'))),
    tile('Step', asCount(now.steps), known(run.total_steps) ? `of ${asCount(run.total_steps)}` : null),
    tile('Epoch', known(now.epoch) ? asCount(Math.min(now.epoch + 1, now.epochs || Infinity)) : unknown, known(now.epochs) ? `of ${asCount(now.epochs)}` : null),
    tile('Memory', peak ? asBytes(peak) : unknown, limit ? `of ${asBytes(limit)}` : peak ? 'peak of a worker' : null));
}

function progressBar(whole) {
  const { steps, seconds, seconds_left: left } = whole.progress || {}, total = (whole.run || {}).total_steps;
  const done = shareDone(whole);
  if (done === null) return null;
  const percent = (100 * done).toFixed(1);
  return make('div', { class: 'progress' },
    make('div', { class: `bar ${moods[whole.status] || 'active'}`, role: 'progressbar', 'aria-label': 'Progress', 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': percent },
      make('i', { style: { width: `${percent}%` } })),
    make('p', null, make('span', null, `step ${asCount(steps)} of ${asCount(total)}`), make('b', null, `${percent}%`),
      make('span', { class: 'so-far' }, ended(whole.status) ? `took ${asSeconds(seconds)}` : `${asSeconds(seconds)} so far`), known(left) && !ended(whole.status) ? make('span', { class: 'left-over' }, `${asSeconds(left)} left`) : null));
}

function shareDone(whole) {
  const { steps } = whole.progress || {}, total = (whole.run || {}).total_steps;
  return known(steps) && total > 0 && !follows(whole) ? Math.min(1, steps / total) : null;
}

function about(run) {
  return [run.model && run.dataset ? `${run.model} on ${run.dataset}` : run.model, run.strategy, run.precision, known(run.world_size) ? plural(run.world_size, 'worker') : null,
    run.started ? `started ${asMinute(run.started)}` : null, run.host ? `on ${run.host}` : null, run.version ? `troupe ${run.version}` : null].filter(Boolean);
}

// Only the leader knows the whole job.
const follows = whole => whole.leads === false;

function leaderLine(whole) {
  const leader = list(whole.nodes).find(node => node.leads), page = pageOf(leader?.page);
  return [`This node follows ${leader?.name || 'another'}, which leads the job. `,
    page ? make('a', { href: page, rel: 'noopener' }, 'The page of the run') : 'The leader has no page: its metrics.listen is off.'];
}

function hero(whole) {
  const run = whole.run || {}, idle = !run.name || whole.status === 'waiting';
  return [make('div', { class: 'name' }, make('h1', null, idle && whole.status === 'waiting' ? 'Waiting for a job' : run.name || 'troupe'), badge(whole.status || 'waiting')),
    make('p', { class: 'about' }, (idle ? ['This page shows the next run as soon as it starts.'] : about(run)).map(text => make('span', null, text))),
    whole.error ? make('div', { class: 'error', role: 'alert' }, make('b', null, whole.status === 'failed' ? '✕ The run has failed' : '▲ An error'), make('p', null, whole.error)) : null,
    follows(whole) ? make('p', { class: 'leader' }, leaderLine(whole)) : idle ? null : [progressBar(whole), tiles(whole)]];
}
