"""A headless Chromium, driven by its own protocol over a pipe: no port, no package."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


class BrowserError(Exception):
    pass


def _high(descriptor):
    """The same pipe's end as a number that is not 3 or 4, which are the browser's."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    """Chromium's process; `page()` opens a tab."""

    def __init__(self, program):
        self._folder = tempfile.mkdtemp(prefix="troupe-browser-")
        commands, self._to = map(_high, os.pipe())
        self._from, answers = map(_high, os.pipe())

        def connect():
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-pipe", f"--user-data-dir={self._folder}", "about:blank"],
            pass_fds=(3, 4), preexec_fn=connect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._received, self._id, self._pages = b"", 0, {}

    def close(self):
        try:
            self.call("Browser.close")
        except (BrowserError, OSError):
            self._process.kill()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def page(self, width=1280, height=900, dark=False, reduced_motion=True):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.colors(dark, reduced_motion)
        return page

    def forget(self, session):
        self._pages.pop(session, None)

    def call(self, method, parameters=None, session=None, seconds=60):
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            answer = self._next(end)
            if answer is None:
                raise BrowserError(f"{method}: no answer within {seconds} s")
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def listen(self, seconds):
        """Takes in what the browser tells meanwhile."""
        end = time.monotonic() + seconds
        while self._next(end) is not None:
            pass

    def _next(self, end):
        while b"\0" not in self._received:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                return None
            part = os.read(self._from, 1 << 16)
            if not part:
                raise BrowserError("the browser has ended")
            self._received += part
        text, self._received = self._received.split(b"\0", 1)
        message = json.loads(text)
        page = self._pages.get(message.get("sessionId"))
        if page is not None and "method" in message:
            page.told(message["method"], message["params"])
        return message


class Page:
    """A tab, and what it has told: requests, and what went wrong in it."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.requests, self.problems, self.loaded = [], [], False

    def call(self, method, parameters=None):
        return self._browser.call(method, parameters, self._session)

    def told(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(part.get("value", part)) for part in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, address):
        self.loaded = False
        self.call("Page.navigate", {"url": address})
        end = time.monotonic() + 60
        while not self.loaded:
            if time.monotonic() > end:
                raise BrowserError(f"{address}: not loaded within a minute")
            self._browser.listen(0.02)
        return self

    def close(self):
        self._browser.call("Target.closeTarget", {"targetId": self._target})
        self._browser.forget(self._session)

    def run(self, expression):
        """The value of a JavaScript expression, awaited."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def wait(self, expression, seconds=30):
        """Until it is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise BrowserError(f"not true within {seconds} s: {expression}")
            self._browser.listen(0.03)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})  # fmt: skip

    def colors(self, dark=False, reduced_motion=True, media=""):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}]  # fmt: skip
        self.call("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def press(self, key, times=1, modifiers=0):
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "text": text, "modifiers": modifiers}
            if key == "Tab":
                down["windowsVirtualKeyCode"] = 9
            self.call("Input.dispatchKeyEvent", down)
            self.call("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, "modifiers": modifiers})

    def point(self, x, y, kind="mouseMoved"):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left" if kind != "mouseMoved" else "none", "clickCount": 1})

    def accessible(self):
        """The nodes of the accessibility tree that are not ignored, as (role, name)."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value", ""), node.get("name", {}).get("value", ""))
                for node in nodes if not node.get("ignored")]  # fmt: skip

    def screenshot(self, path, whole=False):
        options = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options |= {"captureBeyondViewport": True,
                        "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}  # fmt: skip
        data = self.call("Page.captureScreenshot", options)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
