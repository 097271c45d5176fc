"""tools/fetch-data docs from a repository of the test's own, with the names that a Debian's packages have."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FETCH = pathlib.Path(__file__).resolve().parents[2] / "tools/fetch-data"
USUAL = {"anarchism": "book.html", "perl-doc": "perl.pod"}
BOOKWORM = {"postgresql-doc-15": "sql.html", "python3.11-doc": "tutorial.rst.txt"}
TRIXIE = {"postgresql-doc-17": "sql.html", "python3.13-doc": "tutorial.rst.txt"}
# Of these names none is that of a manual.
OTHERS = {"postgresql-doc": "sql.html", "postgresql-document-99": "sql.html", "python3-doc": "a.rst.txt", "python3.99-docutils": "a.rst.txt"}
APT = """\
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::State::lists "{0}/lists";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Cache::archives "{0}/cache/archives";
Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
"""


def called(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


class FetchDocs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-fetch-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.repository = self.scratch / "repository"
        for folder in ("repository", "lists/partial", "cache/archives/partial"):
            (self.scratch / folder).mkdir(parents=True)
        (self.scratch / "status").touch()
        (self.scratch / "sources.list").write_text(f"deb [trusted=yes] file:{self.repository} ./\n")
        (self.scratch / "apt.conf").write_text(APT.format(self.scratch))

    def package(self, name, file):
        """One whose file says which package it is of. Returns its entry in the repository's list."""
        folder = self.scratch / "packages" / name
        document = folder / "usr/share/doc" / name / file
        document.parent.mkdir(parents=True)
        document.write_text(f"this is {name}")
        control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: a manual\n"
        (folder / "DEBIAN").mkdir()
        (folder / "DEBIAN/control").write_text(control)
        archive = self.repository / f"{name}_1_all.deb"
        called("dpkg-deb", "--build", "--root-owner-group", folder, archive)
        data = archive.read_bytes()
        return f"{control}Filename: ./{archive.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"

    def fetch(self, packages):
        """From a repository of these, whose list apt has not read yet. Returns how it ended, and the folder."""
        entries = [self.package(name, file) for name, file in packages.items()]
        (self.repository / "Packages").write_text("\n".join(entries))
        folder = self.scratch / "docs"
        variables = os.environ | {"APT_CONFIG": str(self.scratch / "apt.conf")}
        ended = subprocess.run([FETCH, "docs", folder], env=variables, capture_output=True, text=True, check=False)
        return ended, folder

    def check_manuals(self, packages, postgresql, python):
        ended, folder = self.fetch(USUAL | OTHERS | packages)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        found = {file.name: file.read_text().strip() for file in folder.iterdir()}
        wanted = {"anarchism.txt": "anarchism", "perl.txt": "perl-doc", "postgresql.txt": postgresql, "python.txt": python}
        self.assertEqual(found, {name: f"this is {package}" for name, package in wanted.items()})

    def test_debian_12(self):
        self.check_manuals(BOOKWORM, "postgresql-doc-15", "python3.11-doc")

    def test_debian_13(self):
        self.check_manuals(TRIXIE, "postgresql-doc-17", "python3.13-doc")

    def test_of_several_the_newest(self):
        older = {"postgresql-doc-9": "sql.html", "python3.9-doc": "tutorial.rst.txt"}
        self.check_manuals(older | TRIXIE | BOOKWORM, "postgresql-doc-17", "python3.13-doc")

    def test_where_there_is_none_it_is_said(self):
        ended, folder = self.fetch(USUAL | OTHERS)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("apt knows no package postgresql-doc-[0-9]+", ended.stderr)
        self.assertEqual((folder / "perl.txt").read_text(), "this is perl-doc")
        self.assertFalse((folder / "postgresql.txt").exists())


if __name__ == "__main__":
    if not all(shutil.which(program) for program in ("apt-get", "apt-cache", "dpkg-deb")) or os.geteuid() != 0:
        print("skipped: it takes apt, and root as fetch-data does to read apt's lists")
        sys.exit(77)
    unittest.main()
