// Follows a run: the document, then what changes of it, as long as the program is there.

// `told({whole})` after each change, `told({lost})` when the connection is gone and when it is back. Browsers try again
// by themselves after a break, not after an answer that is an error.
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
