// Memory and activity of each worker.

const workerName = worker => `rank ${worker.rank} · ${worker.device || unknown}`;
const memoryKinds = ['parameters', 'gradients', 'optimizer', 'activations', 'workspace', 'data', 'communication', 'pinned'];

// A worker's bar ends at the memory in use, or at its peak if only the peaks of kinds are known.
// These peaks may have occurred at different times, so they are scaled to the bar. Pinned memory
// belongs to the host and is part of neither.
function memoryRow(worker, kinds, of, now) {
  const values = kinds.map(([name]) => of(worker)[name] ?? null), all = sum(values), peak = worker.peak_memory_bytes, limit = worker.memory_limit_bytes;
  const scale = !now && all > peak ? peak / all : 1, pinned = of(worker).pinned;
  return { name: workerName(worker), values, widths: values.map(value => value * scale), mark: peak, limit: limit || undefined,
    more: pinned > 0 ? [['pinned host memory', asBytes(pinned)]] : [],
    text: `${now ? `${asBytes(worker.memory_bytes)}, ` : ''}peak ${asBytes(peak)}${limit ? ` of ${asBytes(limit)}` : ''}` };
}

const workers = [
  section('Workers', 'Memory', body => {
    const names = make('ul', { class: 'legend' }), note = make('p', { class: 'note' });
    body.append(names);
    const chart = new Bars(within(body, 'rows'), 'Memory of each worker by kind');
    body.append(note);
    return whole => {
      const now = list(whole.workers).some(worker => sum(entries(worker.bytes_by_kind).map(([, bytes]) => bytes)) > 0);
      const of = worker => (now ? worker.bytes_by_kind : worker.peak_bytes_by_kind) || {};
      const shown = list(whole.workers).filter(worker => known(worker.peak_memory_bytes) || entries(of(worker)).length);
      if (!shown.length) return false;
      const kinds = [...new Set([...memoryKinds, ...shown.flatMap(worker => Object.keys(of(worker)))])]
        .map((name, index) => [name, `c${index % 8}`]).filter(([name]) => name !== 'pinned' && shown.some(worker => of(worker)[name] > 0));
      legend(names, [...kinds.map(([name, color]) => [name, 'block', color]), ['peak', 'peak', '']]);
      chart.set({ parts: kinds, format: asBytes, markName: 'peak', most: Math.max(...shown.map(worker => worker.memory_limit_bytes || 0)),
        rows: shown.map(worker => memoryRow(worker, kinds, of, now)) });
      const pinned = Math.max(...shown.map(worker => of(worker).pinned || 0));
      note.textContent = [now ? 'in use now; the mark is the peak' : 'bars show the peak, divided in proportion to the peaks of the kinds, which may be at different times',
        pinned > 0 ? `not included: up to ${asBytes(pinned)} of pinned host memory per worker` : null].filter(given).join('; ');
      return true;
    };
  }, { wide: true }),
  section('Workers', 'Workers', body => ({ workers: all }) => {
    if (!list(all).length) return false;
    show(body, table('Workers', [['Rank', worker => String(worker.rank)], ['Device', worker => worker.device || unknown, 'left'], ['Node', worker => worker.node || unknown, 'left'],
      ['Step', worker => asSeconds(worker.step_seconds)], ['Busy', worker => meter(worker.busy_ratio, asPercent(worker.busy_ratio))],
      ['Waiting for data', worker => meter(worker.data_wait_ratio, asPercent(worker.data_wait_ratio))],
      ['Memory', worker => asBytes(worker.memory_bytes)], ['Peak', worker => asBytes(worker.peak_memory_bytes)], ['Limit', worker => asBytes(worker.memory_limit_bytes || null)]], all));
    return true;
  }, { wide: true }),
];
