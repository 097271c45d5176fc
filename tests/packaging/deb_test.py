#!/usr/bin/env python3
# deb_test.py DEB VERSION: what a Debian package of troupe has in it, and what it says of itself.
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DEB, VERSION = Path(sys.argv[1]), sys.argv[2]

# Each with its mode, and where it leads.
HAS = {
    "/etc/troupe/node.yaml": "-rw-r--r--",
    "/usr/bin/troupe": "-rwxr-xr-x",
    "/usr/bin/troupe-fetch-data": "lrwxrwxrwx ../lib/troupe/tools/fetch-data",
    "/usr/bin/troupe-make-certs": "lrwxrwxrwx ../lib/troupe/tools/make-certs",
    "/usr/lib/systemd/system/troupe-node@.service": "-rw-r--r--",
    "/usr/lib/troupe/tools/cifar10-from-png": "-rwxr-xr-x",
    "/usr/lib/troupe/tools/fetch-data": "-rwxr-xr-x",
    "/usr/share/bash-completion/completions/troupe": "-rw-r--r--",
    "/usr/share/doc/troupe/LICENSE": "lrwxrwxrwx ../../common-licenses/Apache-2.0",
    "/usr/share/doc/troupe/changelog.gz": "-rw-r--r--",
    "/usr/share/doc/troupe/copyright": "-rw-r--r--",
    "/usr/share/doc/troupe/docs/operating.md": "-rw-r--r--",
    "/usr/share/fish/vendor_completions.d/troupe.fish": "-rw-r--r--",
    "/usr/share/man/man1/troupe-fetch-data.1.gz": "-rw-r--r--",
    "/usr/share/man/man1/troupe-node.1.gz": "-rw-r--r--",
    "/usr/share/man/man1/troupe.1.gz": "-rw-r--r--",
    "/usr/share/man/man5/troupe.yaml.5.gz": "-rw-r--r--",
    "/usr/share/troupe/configs/demo.yaml": "-rw-r--r--",
    "/usr/share/troupe/dashboards/alerts.yml": "-rw-r--r--",
    "/usr/share/troupe/dashboards/provisioning/dashboards/troupe.yaml": "-rw-r--r--",
    "/usr/share/zsh/vendor-completions/_troupe": "-rw-r--r--",
}
# Anything else has no business on somebody's system.
BELOW = ("/etc/troupe/", "/usr/bin/troupe", "/usr/lib/troupe/", "/usr/share/troupe/", "/usr/share/doc/troupe/", "/usr/share/man/man", *HAS)
LIBRARIES = ("libc6", "libdnnl", "libssl3", "libstdc++6", "libcurl", "libyaml-cpp", "libspdlog", "libpng16-16", "libwebp", "libicu")

wrong = []


def expect(good, text):
    if not good:
        wrong.append(text)


def dpkg_deb(*arguments):
    return subprocess.run(["dpkg-deb", *arguments], check=True, text=True, capture_output=True).stdout


def parsed(line):
    """Path, and its mode, owner and where it leads."""
    mode, owner, _, _, _, path = line.split(maxsplit=5)
    path, _, target = path.partition(" -> ")
    return path.removeprefix("."), mode, owner, target


entries = [parsed(line) for line in dpkg_deb("-c", DEB).splitlines()]
files = {path: f"{mode} {target}".strip() for path, mode, _, target in entries}
for path, is_so in HAS.items():
    expect(files.get(path) == is_so, f"{path}: {files.get(path, 'not there')}, not {is_so}")
for path, mode, owner, _ in entries:
    expect(owner == "root/root", f"{path} is {owner}'s")
    is_folder = path.endswith("/")
    expect(mode in (("drwxr-xr-x",) if is_folder else ("-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx")), f"{path} has mode {mode}")
    if is_folder:
        expect(any(other.startswith(path) and other != path for other in files), f"{path} is empty")
    else:
        expect(path.startswith(BELOW), f"{path} does not belong there")

fields = dict(re.findall(r"^([\w-]+): (.*)$", dpkg_deb("-f", DEB), re.MULTILINE))
expect(fields["Package"] == "troupe" and fields["Version"] == VERSION, f"it is {fields['Package']} {fields['Version']}")
expect(fields["Architecture"] in DEB.name, f"{DEB.name} is of architecture {fields['Architecture']}")
for library in LIBRARIES:
    expect(library in fields["Depends"], f"it does not depend on {library}")
# What may not be there is opened at run time.
for library in ("cuda", "cudnn", "cublas", "nccl", "nvidia"):
    expect(library not in fields["Depends"], f"it depends on {library}")

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
dpkg_deb("-x", DEB, folder)
dpkg_deb("-e", DEB, folder / "DEBIAN")
expect((folder / "DEBIAN/conffiles").read_text() == "/etc/troupe/node.yaml\n", "its conffile is another")
scripts = {file.name for file in (folder / "DEBIAN").iterdir()} - {"control", "conffiles", "md5sums"}
expect(scripts == {"postinst", "prerm"}, f"it has the scripts {scripts}")

unit = (folder / "usr/lib/systemd/system/troupe-node@.service").read_text(encoding="utf-8")
for page in re.findall(r"file://(\S+)", unit):
    expect(page in files, f"the unit names {page}, which is not there")
sections = subprocess.run(["readelf", "-SdW", folder / "usr/bin/troupe"], check=True, text=True, capture_output=True).stdout
expect(".debug_info" not in sections and ".symtab" not in sections, "the program is not stripped")
expect("RUNPATH" not in sections and "RPATH" not in sections, "the program looks for libraries in a folder of its own")

print("\n".join(wrong) or f"{DEB.name}: {len(files)} files, {DEB.stat().st_size / 2**20:.1f} MiB")
sys.exit(1 if wrong else 0)
