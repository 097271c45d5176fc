"""Logs of the parts, which are to be brought home: bounded, whatever a program has to say."""

import collections
import threading

HEAD = 12 * 2**20  # characters that are written as they come
TAIL = 2**20  # of what comes behind them, the last, which are written at the end


class Log:
    """A file that is appended to, each write at once, so that a killed run leaves all it had said."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", errors="replace", buffering=1)
        self.left = HEAD - self.file.tell()
        self.tail, self.kept, self.dropped = collections.deque(), 0, 0
        self.lock = threading.Lock()  # a program's outputs are read by threads

    def write(self, text):
        with self.lock:
            if self.left > 0:
                self.file.write(text)
                self.left -= len(text)
            else:
                self._keep(text)

    def _keep(self, text):
        self.tail.append(text)
        self.kept += len(text)
        while self.kept > TAIL:
            self.dropped += len(self.tail[0])
            self.kept -= len(self.tail.popleft())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with self.lock:
            if self.dropped:
                self.file.write(f"\n[{self.dropped} characters are left out here]\n")
            self.file.write("".join(self.tail))
            self.file.close()
