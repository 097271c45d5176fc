// What each worker needs and does.

const workerName = worker => `rank ${worker.rank} · ${worker.device || unknown}`;
const memoryKinds = ['parameters', 'gradients', 'optimizer', 'activations', 'workspace', 'data', 'communication', 'pinned'];

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
        .map((name, index) => [name, `c${index % 8}`]).filter(([name]) => shown.some(worker => of(worker)[name] > 0));
      legend(names, [...kinds.map(([name, color]) => [name, 'block', color]), ['peak', 'peak', '']]);
      chart.set({ parts: kinds, format: asBytes, markName: 'peak', most: Math.max(...shown.map(worker => worker.memory_limit_bytes || 0)),
        rows: shown.map(worker => ({ name: workerName(worker), values: kinds.map(([name]) => of(worker)[name] ?? null), mark: worker.peak_memory_bytes, limit: worker.memory_limit_bytes || undefined,
          text: `${now ? `${asBytes(worker.memory_bytes)}, ` : ''}peak ${asBytes(worker.peak_memory_bytes)}${worker.memory_limit_bytes ? ` of ${asBytes(worker.memory_limit_bytes)}` : ''}` })) });
      note.textContent = now ? 'in use now; the mark is the peak' : 'the peak of each kind, which need not be at one time';
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
