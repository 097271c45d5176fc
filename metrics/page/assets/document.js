// Merges changes into a document.

// Replaces each key as a whole, except `steps`: its columns keep the values before `from`.
function merge(whole, changes) {
  const { steps, ...others } = changes;
  Object.assign(whole, others);
  if (!steps) return whole;
  const before = whole.steps || {}, merged = { ...steps };
  for (const [name, column] of Object.entries(steps))
    if (Array.isArray(column)) merged[name] = [...list(before[name]).slice(0, steps.from), ...column];
  merged.from = 0;
  whole.steps = merged;
  return whole;
}

const columnOf = (whole, name) => list((whole.steps || {})[name]);
const hasValues = values => list(values).some(known);
const ended = status => ['completed', 'stopped', 'failed', 'interrupted'].includes(status);
