"""Records the bytes that a daemon sends when it joins, and replays them later."""
import contextlib
import selectors
import socket
import threading

LISTENS = 10  # seconds that the proxy accepts connections
MOST = 1 << 20  # bytes kept of a connection


class Proxy:
    """Listens on the bridge, which all hosts reach, and forwards each connection to a host's daemon."""

    def __init__(self, net, host):
        self.target = (net.ip(host), 7401)
        self.listener = socket.create_server((f"{net.network}.254", 0))
        self.listener.settimeout(LISTENS)
        self.said = []  # bytes of each connection
        threading.Thread(target=self.accept, daemon=True).start()

    def address(self):
        return ":".join(map(str, self.listener.getsockname()))

    def accept(self):
        with self.listener, contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.forward, args=(client,), daemon=True).start()

    def forward(self, client):
        with client, contextlib.suppress(OSError), socket.create_connection(self.target, 2) as daemon:
            said = bytearray()
            self.said.append(said)
            with selectors.DefaultSelector() as ready:
                ready.register(client, selectors.EVENT_READ, daemon)
                ready.register(daemon, selectors.EVENT_READ, client)
                while True:
                    for key, _ in ready.select():
                        read = key.fileobj.recv(1 << 16)
                        if not read:
                            return
                        key.data.sendall(read)
                        if key.fileobj is client:
                            said += read[: MOST - len(said)]


def say_again(net, proxy, hosts):
    """Replays to every daemon, each in a connection that stays open for a while."""
    for host in hosts:
        for said in proxy.said:
            threading.Thread(target=replay, args=((net.ip(host), 7401), bytes(said)), daemon=True).start()


def replay(target, said):
    with contextlib.suppress(OSError), socket.create_connection(target, 1) as daemon:
        daemon.settimeout(2)
        daemon.sendall(said)
        while daemon.recv(1 << 16):
            pass
