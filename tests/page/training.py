"""Runs of the program that tests follow."""

import json
import os
import re
import subprocess
import time
import urllib.request

from support import PROGRAM, PageTest

SMALL = os.environ.get("TROUPE_SMALL_CONFIG", "")


class Training:
    """`troupe train`, whose page is at `address`."""

    def __init__(self, folder, *settings, config=SMALL):
        self.folder = folder
        words = [PROGRAM, "train", config]
        for setting in (f"run.output={folder}", "run.name=followed", "metrics.listen=127.0.0.1:0", *settings):
            words += ["--set", setting]
        self.output = folder / "output.txt"
        with self.output.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while not (found := re.search(r"http://(127\.0\.0\.1:\d+)/", self.text())):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no page: {self.text()}")
            time.sleep(0.02)
        self.address = f"http://{found[1]}/"

    def text(self):
        return self.output.read_text(encoding="utf-8")

    def document(self):
        with urllib.request.urlopen(self.address + "run.json", timeout=20) as answer:
            return json.load(answer)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


class TrainingTest(PageTest):
    def train(self, *settings, **more):
        folder = self.folder / f"run-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        training = Training(folder, *settings, **more)
        self.addCleanup(training.end)
        return training

    def opened(self, training):
        page = self.tab().open(training.address)
        page.wait("document.querySelector('[data-tile=Step]')")
        return page
