"""private_apt_update of tools/lib/common.sh: which suites the private apt reads."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMMON = HERE.parents[1] / "tools/lib/common.sh"
# Nothing of this host's apt but its programs: another host has other settings.
SCRIPT = r"""
set -euo pipefail
. "$1"
deps=$2
debian_keyring() { echo "$deps/key.asc"; }
private_apt() {
  printf 'Dir::Etc::main "/dev/null";\nDir::Etc::parts "/dev/null";\nDir::State::status "/dev/null";\n' >>"$deps/apt/apt.conf"
  APT_CONFIG=$deps/apt/apt.conf apt-get "$@"
}
private_apt_update "experimental main deb-src"
"""


class PrivateApt(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-private-apt-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.suite = self.scratch / "mirror/dists/experimental"
        (self.suite / "main/source").mkdir(parents=True)
        shutil.copy(HERE / "expired_suite/InRelease", self.suite)
        shutil.copy(HERE / "expired_suite/Sources", self.suite / "main/source")
        shutil.copy(HERE / "expired_suite/key.asc", self.scratch)

    def update(self):
        environment = {**os.environ, "TROUPE_DEBIAN_MIRROR": f"file:{self.scratch}/mirror"}
        words = ["bash", "-c", SCRIPT, "test", COMMON, self.scratch]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    def test_a_suite_whose_release_file_has_expired_is_read(self):
        ended = self.update()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lists = [file.name for file in (self.scratch / "apt/lists").iterdir()]
        self.assertTrue(any(name.endswith("_main_source_Sources") for name in lists), lists)

    def test_a_suite_whose_release_file_was_changed_is_refused(self):
        release = self.suite / "InRelease"
        release.write_text(release.read_text().replace("2020", "2030"))
        ended = self.update()
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("not signed", ended.stderr + ended.stdout)


if __name__ == "__main__":
    if not shutil.which("apt-get"):
        print("skipped: needs apt-get")
        sys.exit(77)
    unittest.main()
