// Records of the run: checkpoints, facts, the log and the config.

const facts = rows => make('dl', { class: 'facts' }, rows.filter(([, value]) => given(value) && value !== unknown).map(([name, value]) => make('div', null, make('dt', null, name), make('dd', null, value))));

const record = [
  section('Record', 'Log', body => {
    const lines = make('ol', { class: 'log', tabindex: 0, role: 'log', 'aria-live': 'off', 'aria-label': 'Last lines of the log' });
    body.append(lines);
    return ({ log, status }) => {
      if (!list(log).length) return ended(status) ? false : 'Nothing yet.';
      const follows = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 8;
      show(lines, log.map(({ time, level, text }) => make('li', { class: `level-${/^\w+$/.test(level) ? level : 'info'}` }, make('time', null, asClock(time)), make('b', null, level), make('span', null, text))));
      if (follows) lines.scrollTop = lines.scrollHeight;
      return true;
    };
  }, { wide: true, local: true }),
  section('Record', 'Checkpoints', body => ({ checkpoints: kept, status }) => {
    if (!kept) return false;
    if (!kept.written && !kept.failures && !kept.path) return status === 'waiting' ? false : ended(status) ? 'None was written.' : 'None yet.';
    show(body, kept.failures ? make('p', { class: 'alarm' }, `${plural(kept.failures, 'checkpoint')} could not be written`) : null,
      facts([['Written', asCount(kept.written)], ['Last at step', asCount(kept.last_step)], ['Time to write', asSeconds(kept.last_seconds)], ['Size', asBytes(kept.last_bytes)],
        ['When', asMinute(kept.last_time)], ['Where', kept.path]]));
    return true;
  }),
  section('Record', 'Run', body => whole => {
    const run = whole.run || {}, now = whole.progress || {};
    if (!run.name || whole.status === 'waiting') return false;
    show(body, facts([['Steps', run.first_step > 0 ? `${asCount(now.steps)} of ${asCount(run.total_steps)}, resumed at ${asCount(run.first_step)}` : `${asCount(now.steps)} of ${asCount(run.total_steps)}`],
      [samplesOf(whole), now.unreadable_samples > 0 ? `${asCount(now.samples)}; ${asCount(now.unreadable_samples)} could not be read` : asCount(now.samples)],
      ['Global batch', asCount(run.batch_size)], ['Steps per epoch', asCount(run.steps_per_epoch)], ['Classes', list(run.class_names).length ? asCount(run.class_names.length) : null],
      ['Overlap of collectives', run.world_size > 1 ? asPercent(now.overlap_ratio) : null], ['Waited for data', asPercent(now.data_wait_ratio)],
      ['Steps skipped', now.skipped_steps ? asCount(now.skipped_steps) : null],
      ['Activations with recomputing', run.recompute ? `${asBytes(run.recompute.activation_bytes)} instead of ${asBytes(run.recompute.activation_bytes_without)}` : null],
      ['SHA-256 of parameters', now.parameters_sha256 ? make('code', null, now.parameters_sha256) : null]]));
    return true;
  }),
  section('Record', 'Config', (body, tools) => {
    const text = make('pre', { tabindex: 0, role: 'region', 'aria-label': 'Config of the run' }), fold = make('details', null, make('summary', null, 'All keys of the run'), text);
    const copy = button('Copy', async () => {
      const done = await copied(text.textContent);
      copy.textContent = done ? 'Copied' : 'Not allowed';
      announce(copy.textContent);
      setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
    }, { 'aria-label': 'Copy the config' });
    tools.append(copy);
    body.append(fold);
    return ({ config }) => {
      if (!config) return false;
      if (text.textContent !== config) text.textContent = config;
      return true;
    };
  }, { wide: true, local: true }),
];

// Browsers only provide a clipboard to pages of this host or over TLS; elsewhere copies a
// selection.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make('textarea', { class: 'unseen', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
