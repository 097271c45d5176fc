// Follows a run: receives the document, then its changes, while the program runs.

// Calls `told({whole})` after each change, and `told({lost})` when the connection is lost or
// restored. Browsers reconnect by themselves after a lost connection, but not after an error
// response.
function follow(told) {
  let whole = null, source = null;
  const taken = change => event => {
    whole = change(JSON.parse(event.data));
    told({ whole, lost: false });
  };
  const connect = () => {
    source = new EventSource('events');
    source.addEventListener('document', taken(next => next));
    source.addEventListener('changes', taken(changes => merge(whole || {}, changes)));
    source.onerror = () => {
      if (whole && ended(whole.status)) { // the program has ended with its run
        source.close();
        return told({ whole, lost: false, over: true });
      }
      told({ whole, lost: true });
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
    };
  };
  connect();
}
