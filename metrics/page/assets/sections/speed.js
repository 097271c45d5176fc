// How fast it is, and where the time of a step goes.

const speed = [
  section('Speed', 'Throughput', (body, tools, heading) => {
    const update = curve(body, tools, 'Throughput by step', { format: asRate, fromZero: true }, whole =>
      noisy(`${itemsOf(whole).toLowerCase()}/s`, columnOf(whole, 'samples_per_second').map(rate => inUnits(whole, rate)), 'c0'));
    return whole => {
      heading.textContent = `${itemsOf(whole)}/s`;
      return update(whole);
    };
  }),
  section('Speed', 'MFU', (body, tools) => curve(body, tools, 'Model FLOPs utilization by step', { format: asPercent, fromZero: true }, whole =>
    noisy('of what the devices can do', columnOf(whole, 'mfu'), 'c0'))),
  section('Speed', 'Step time', body => {
    const chart = new Histogram(body, 'Steps by their time'), note = make('p', { class: 'note' });
    body.append(note);
    return ({ step_seconds: times }) => {
      if (!times || !sum(list(times.counts)) || !known(times.low) || !known(times.high)) return false;
      chart.set(times.high > times.low ? times : { ...times, low: times.low * 0.9, high: times.high * 1.1 || 1 });
      note.textContent = `half of the steps within ${asSeconds(times.median)}, 95% within ${asSeconds(times.p95)}, the longest ${asSeconds(times.max)}`;
      return true;
    };
  }),
  section('Speed', 'Where the time goes', body => {
    const names = make('ul', { class: 'legend' });
    const parts = [['forward and backward', 'c0'], ['waiting for data', 'c3'], ['the rest', 'c5']];
    body.append(names);
    const chart = new Bars(within(body, 'rows'), 'Where the time of each worker goes');
    legend(names, parts.map(([name, color]) => [name, 'block', color]));
    return whole => {
      const workers = list(whole.workers).filter(worker => known(worker.busy_ratio));
      if (!workers.length) return false;
      chart.set({ parts, format: asPercent, most: 1, rows: workers.map(worker => {
        const busy = worker.busy_ratio, waiting = Math.min(worker.data_wait_ratio || 0, Math.max(0, 1 - busy));
        return { name: workerName(worker), values: [busy, waiting, Math.max(0, 1 - busy - waiting)],
          text: known(worker.step_seconds) ? `${asPercent(busy)} of ${asSeconds(worker.step_seconds)} a step` : `${asPercent(busy)} computing` };
      }) });
      return true;
    };
  }),
  section('Speed', 'Waiting and overlap', (body, tools) => curve(body, tools, 'Waiting for data and overlap of collectives by step', { format: asPercent, fromZero: true, most: 0.1 }, whole => [
    { name: 'waited for data', y: columnOf(whole, 'data_wait_ratio'), look: 'line', color: 'c3' },
    ...((whole.run || {}).world_size > 1 ? [{ name: 'collectives beside compute', y: columnOf(whole, 'overlap_ratio'), look: 'line', color: 'c1', mark: 'dashed' }] : [])])),
  section('Speed', 'Timeline of a step', (body, tools, heading) => {
    const names = make('ul', { class: 'legend' }), note = make('p', { class: 'note' });
    body.append(names);
    const chart = new Timeline(body, 'Timeline of the last step', tools);
    body.append(note);
    let drawn;
    return ({ timeline, status, live }) => {
      if (!timeline || !list(timeline.rows).length) return live && !ended(status) && status !== 'waiting' ? 'The first step that is recorded appears here.' : false;
      if (timeline === drawn) return true;
      drawn = timeline;
      heading.textContent = `Timeline of step ${asCount(timeline.step)}`;
      const spent = list(timeline.kinds).map((_, kind) => sum(timeline.rows.flatMap(row => list(row.spans).filter(span => span[2] === kind).map(span => span[1]))));
      legend(names, list(timeline.kinds).map((name, kind) => [name, 'block', `c${kind % 8}`, asSeconds(spent[kind])]).filter((_, kind) => spent[kind] > 0));
      note.textContent = [`${asSeconds(timeline.seconds)} in all; times of a kind are summed over rows`,
        timeline.dropped ? `${plural(timeline.dropped, 'span')} left out` : null, 'keys: arrows, + − 0'].filter(given).join('; ');
      chart.set(timeline);
      return true;
    };
  }, { wide: true, local: true }),
];
