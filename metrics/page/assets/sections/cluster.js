// Actors and nodes, and membership changes.

// Makes a link address only of a host and a port.
const pageOf = page => typeof page === 'string' && /^[\w.\-[\]:]+:\d+$/.test(page) ? `${location.protocol === 'https:' ? 'https:' : 'http:'}//${page}/` : null;

// "2 × H100, A100": merges equal names.
const counted = names => [...new Set(names)].map(name => {
  const count = names.filter(other => other === name).length;
  return count > 1 ? `${count} × ${name}` : name;
}).join(', ');

const cluster = [
  section('Cluster', 'Actors', body => ({ actors }) => {
    if (!list(actors).length) return false;
    const most = Math.max(1, ...actors.map(actor => actor.waiting || 0));
    show(body, table('Actors', [['Actor', actor => actor.count > 1 ? [actor.name, make('span', { class: 'soft' }, ` ×${asCount(actor.count)}`)] : actor.name],
      ['Mailbox', actor => meter((actor.waiting || 0) / most, `${asCount(actor.waiting)} waiting`)], ['Messages/s', actor => asRate(actor.messages_per_second)],
      ['Messages', actor => asCount(actor.messages)], ['Busy', actor => meter(actor.busy_ratio, asPercent(actor.busy_ratio))]], actors));
    return true;
  }, { wide: true, local: true }),
  section('Cluster', 'Nodes', (body, tools) => ({ nodes, generation }) => {
    if (!list(nodes).length) return false;
    show(tools, known(generation) ? make('span', { class: 'soft' }, `generation ${asCount(generation)}`) : null);
    show(body, table('Nodes', [['Node', node => [node.name || unknown, node.leads && [' ', make('span', { class: 'tag' }, 'leads')]]],
      ['State', node => node.state || unknown, 'left'], ['Ranks', node => list(node.ranks).join(', ') || unknown, 'left wrap'], ['Devices', node => counted(list(node.devices)) || unknown, 'left wrap'],
      ['Address', node => node.address || unknown, 'left'], ['Heartbeat', node => known(node.heartbeat_age_seconds) ? `${asAge(node.heartbeat_age_seconds)}${node.heartbeat_age_seconds < 1 ? '' : ' ago'}` : unknown],
      ['Version', node => node.version || unknown], ['Page', node => pageOf(node.page) ? make('a', { href: pageOf(node.page), rel: 'noopener' }, node.page) : unknown, 'left']], nodes));
    return true;
  }, { wide: true }),
  section('Cluster', 'Changes', body => ({ recoveries }) => {
    if (!list(recoveries).length) return false;
    show(body, table('Changes', [['Generation', change => asCount(change.generation)], ['When', change => asMinute(change.time), 'left'], ['Why', change => change.reason || unknown, 'left wrap'],
      ['Workers', change => asCount(change.world_size)], ['From step', change => asCount(change.step)], ['Repeated', change => asCount(change.steps_repeated)],
      ['Took', change => asSeconds(change.seconds)]], [...recoveries].reverse()));
    return true;
  }, { wide: true }),
];
