// Speed, and the breakdown of a step's time.

// Appends the rest of the whole to the parts. Parts that overlap are scaled down to fit.
function withRest(parts, whole) {
  const together = sum(parts), scale = together > whole ? whole / together : 1;
  return [...parts.map(part => known(part) ? part * scale : null), Math.max(0, whole - together)];
}

// Bars below a title, with a legend; hidden without data.
function timeBars(body, title, parts) {
  const names = make('ul', { class: 'legend' }), group = make('div', null, make('h4', null, title), names);
  body.append(group);
  const chart = new Bars(within(group, 'rows'), title);
  legend(names, parts.map(([name, color]) => [name, 'block', color]));
  return data => {
    group.hidden = !data;
    if (data) chart.set({ parts, ...data });
  };
}

const speed = [
  section('Speed', 'Throughput', (body, tools, heading) => {
    const update = curve(body, tools, 'Throughput by step', { format: asRate, fromZero: true }, whole =>
      noisy(`${itemsOf(whole).toLowerCase()}/s`, columnOf(whole, 'samples_per_second').map(rate => inUnits(whole, rate)), 'c0'));
    return whole => {
      heading.textContent = `${itemsOf(whole)}/s`;
      return update(whole);
    };
  }),
  section('Speed', 'MFU', (body, tools) => {
    const update = curve(body, tools, 'Model FLOPs utilization by step', { format: asPercent, fromZero: true }, whole =>
      noisy('share of the peak', columnOf(whole, 'mfu'), 'c0'));
    const note = make('p', { class: 'note' });
    body.append(note);
    return whole => {
      const peak = (whole.run || {}).peak_operations_per_second, exceeds = columnOf(whole, 'mfu').some(ratio => ratio > 1);
      note.textContent = [known(peak) ? `100% is ${asOperations(peak)}, the peak of all devices` : null,
        exceeds ? 'above 100%: Winograd needs fewer operations than are counted, or the peak was measured too low' : null].filter(given).join('; ');
      return update(whole);
    };
  }),
  section('Speed', 'Step time', body => {
    const chart = new Histogram(body, 'Steps by duration'), note = make('p', { class: 'note' });
    body.append(note);
    return ({ step_seconds: times }) => {
      if (!times || !sum(list(times.counts)) || !known(times.low) || !known(times.high)) return false;
      chart.set(times.high > times.low ? times : { ...times, low: times.low * 0.9, high: times.high * 1.1 || 1 });
      note.textContent = `half of the steps within ${asSeconds(times.median)}, 95% within ${asSeconds(times.p95)}, the longest ${asSeconds(times.max)}`;
      return true;
    };
  }),
  section('Speed', 'Where the time goes', body => {
    const ofSteps = timeBars(body, 'Time of steps by worker', [['compute', 'c0'], ['waiting for data', 'c3'], ['communication', 'c1'], ['optimizer', 'c2'], ['rest', 'c5']]);
    const ofRun = timeBars(body, 'Time of the run', [['steps', 'c0'], ['evaluations', 'c4'], ['checkpoints', 'c6'], ['rest', 'c5']]);
    return whole => {
      const workers = list(whole.workers).filter(worker => known(worker.busy_ratio)), now = whole.progress || {};
      if (!workers.length) return false;
      ofSteps({ format: asPercent, most: 1, rows: workers.map(worker => ({ name: workerName(worker), text: `${asPercent(worker.busy_ratio)} computing`,
        values: withRest([worker.busy_ratio, worker.data_wait_ratio, worker.collective_ratio, worker.optimizer_ratio], 1) })) });
      ofRun(now.step_seconds > 0 && { format: asSeconds, rows: [{ name: 'the run', text: asSeconds(now.seconds),
        values: withRest([now.step_seconds, now.evaluation_seconds, now.checkpoint_seconds], now.seconds) }] });
      return true;
    };
  }),
  section('Speed', 'Waiting and overlap', (body, tools) => curve(body, tools, 'Waiting for data and overlap of collectives by step', { format: asPercent, fromZero: true, most: 0.1 }, whole => [
    { name: 'waited for data', y: columnOf(whole, 'data_wait_ratio'), look: 'line', color: 'c3' },
    ...((whole.run || {}).world_size > 1 ? [{ name: 'collectives overlapped with compute', y: columnOf(whole, 'overlap_ratio'), look: 'line', color: 'c1', mark: 'dashed' }] : [])])),
  section('Speed', 'Timeline of a step', (body, tools, heading) => {
    const names = make('ul', { class: 'legend' }), note = make('p', { class: 'note' });
    body.append(names);
    const chart = new Timeline(body, 'Timeline of the last step', tools);
    body.append(note);
    let drawn;
    return ({ timeline, status, live }) => {
      if (!timeline || !list(timeline.rows).length) return live && !ended(status) && status !== 'waiting' ? 'The first recorded step appears here.' : false;
      if (timeline === drawn) return true;
      drawn = timeline;
      heading.textContent = `Timeline of step ${asCount(timeline.step)}`;
      const spent = list(timeline.kinds).map((_, kind) => sum(timeline.rows.flatMap(row => list(row.spans).filter(span => span[2] === kind).map(span => span[1]))));
      legend(names, list(timeline.kinds).map((name, kind) => [name, 'block', `c${kind % 8}`, asSeconds(spent[kind])]).filter((_, kind) => spent[kind] > 0));
      note.textContent = [`${asSeconds(timeline.seconds)} in total; times of each kind are summed over rows`,
        timeline.dropped ? `${plural(timeline.dropped, 'span')} left out` : null, 'keys: arrows, + − 0'].filter(given).join('; ');
      chart.set(timeline);
      return true;
    };
  }, { wide: true, local: true }),
];
