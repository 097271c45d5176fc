"""Pictures of the pages of real runs, for people to look at: into the build folder, or into $TROUPE_IMAGES."""

import os
import pathlib
import subprocess

from support import PROGRAM, main
from training import SMALL, TrainingTest

DATA = pathlib.Path(os.environ.get("TROUPE_DATA", ""))
FOLDER = pathlib.Path(os.environ.get("TROUPE_IMAGES") or os.environ.get("TROUPE_IMAGES_BUILT") or ".")
LOOKS = {"desktop": (1280, 860, False), "desktop-dark": (1280, 860, True), "phone": (390, 844, False), "phone-dark": (390, 844, True)}


def job():
    """The largest data that is there: Fashion-MNIST, where it was fetched, else the tests' own."""
    if (DATA / "fashion-mnist").is_dir():
        return ["data.dataset=fashion_mnist", f"data.root={DATA / 'fashion-mnist'}", "model.in_channels=1", "data.batch_size=64",
                "data.eval_batch_size=500", "train.schedule.warmup=0", "checkpoint.every=200 steps"]  # fmt: skip
    return []


class Images(TrainingTest):
    def picture(self, page, name):
        FOLDER.mkdir(parents=True, exist_ok=True)
        page.screenshot(FOLDER / f"{name}.png")

    def pictures(self, address, name, ready):
        for look, (width, height, dark) in LOOKS.items():
            page = self.tab(width=width, height=height, dark=dark).open(address)
            page.wait(ready)
            self.browser.listen(0.5)
            self.picture(page, f"{name}-{look}")
            if width > 500:
                page.run("document.getElementById('part-speed')?.scrollIntoView()")
                self.browser.listen(0.3)
                self.picture(page, f"{name}-{look}-below")
            page.problems[:] = [problem for problem in page.problems if "ERR_" not in problem]

    def test_live_page_and_report(self):
        training = self.train(*job(), "run.name=fashion" if job() else "run.name=small", "train.epochs=6" if job() else "train.epochs=60", "train.evaluate_every=1",
                              "train.gradient_norm_every=1", "devices.count=2", "parallel.strategy=ddp")  # fmt: skip
        page = self.opened(training)
        page.wait("Number(document.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow')) > 25", seconds=280)
        self.pictures(training.address, "live", "document.querySelectorAll('.timeline rect').length > 3")
        page.problems[:] = [problem for problem in page.problems if "ERR_" not in problem]
        training.process.wait(280)
        self.pictures((next(training.folder.glob("*/report.html"))).as_uri(), "report", "document.body.dataset.drawn > 0")

    def test_comparison(self):
        folder = self.folder / "compared"
        words = [PROGRAM, "compare", SMALL, "--strategies", "single,ddp,zero1,zero2,fsdp", "--output", str(folder)]
        for setting in (*job(), "train.max_steps=120", "train.epochs=1" if job() else "train.epochs=15", "devices.count=2"):
            words += ["--set", setting]
        subprocess.run(words, capture_output=True, check=True)
        self.pictures((folder / "compare.html").as_uri(), "comparison", "document.body.dataset.drawn > 0")


if __name__ == "__main__":
    main()
