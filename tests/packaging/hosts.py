# Hosts of their own on this machine: each has its system, whose first process is systemd, and its address in a network of theirs.
import os
import shutil
import subprocess
import time
from pathlib import Path
from shlex import quote

HERE = Path(__file__).resolve().parent
NAMESPACES = HERE.parent.parent / "tools/network-namespaces"
CGROUPS = Path("/sys/fs/cgroup")
HOME = "/root"  # where commands are run


class NotHere(Exception):
    """What this machine lacks."""


def check_machine():
    if os.geteuid() != 0:
        raise NotHere("not root: there are no namespaces for us")
    for program in ("/lib/systemd/systemd", "nsenter", "unshare", "ip"):
        if not shutil.which(program):
            raise NotHere(f"{program} is not installed")


def cgroup_roots():
    """Of the hierarchies that systemd uses: the one there is, or the two of a hybrid layout."""
    roots = [CGROUPS] if (CGROUPS / "cgroup.procs").exists() else [CGROUPS / "unified", CGROUPS / "systemd"]
    for root in roots:
        if not os.access(root / "cgroup.procs", os.W_OK):
            raise NotHere(f"{root} has no control groups that can be written")
    return roots


class Network:
    """A namespace for each of so many hosts, with the addresses 10.0.0.1 and on. Their bridge is in one more, as tests beside this one
    may have a bridge with the same address."""

    def __init__(self, count):
        self.prefix = f"p{os.getpid()}"
        self.bridge = f"{self.prefix}-bridge"
        if subprocess.run(["ip", "netns", "add", self.bridge], check=False).returncode != 0:
            raise NotHere("this machine has no network namespaces for us")
        made = self._tool("up", str(count))
        if made != 0:
            self.close()
            raise NotHere("network namespaces do not work here") if made == 3 else RuntimeError(f"network-namespaces: exit code {made}")
        for i in range(1, count + 1):
            subprocess.run(["ip", "-n", self.name(i), "addr", "add", f"10.0.0.{i}/24", "dev", "eth0"], check=True)

    def _tool(self, verb, *arguments):
        inside = ["nsenter", f"--net=/run/netns/{self.bridge}"]
        return subprocess.run([*inside, "sh", NAMESPACES, verb, self.prefix, *arguments], check=False).returncode

    def name(self, number):
        return f"{self.prefix}-{number}"

    def close(self):
        self._tool("down")
        subprocess.run(["ip", "netns", "delete", self.bridge], check=False)


class Host:
    def __init__(self, name, namespace, scratch):
        self.name = name
        self.groups = [root / f"troupe-{os.getpid()}-{name}" for root in cgroup_roots()]
        for group in self.groups:
            group.mkdir()
        enter = "".join(f"echo $$ >{group}/cgroup.procs; " for group in self.groups)
        unshare = "unshare --mount --pid --uts --ipc --cgroup --fork --kill-child --propagation private"
        self.process = subprocess.Popen(
            ["bash", "-ec", f"{enter} exec nsenter --net=/run/netns/{namespace} {unshare} {quote(str(HERE / 'boot.sh'))} {name} {quote(str(scratch))}"],
            stdout=subprocess.DEVNULL,
        )
        try:
            self._wait()
        except Exception:
            self.close()
            raise

    def _wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise NotHere("systemd does not start in namespaces here")
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii").split()
            if children:
                self.first = children[0]
                if self.run("systemctl is-active basic.target", check=False).stdout.strip() == "active":
                    return
            time.sleep(0.1)
        raise RuntimeError(f"systemd of {self.name} does not come up")

    def run(self, text, check=True):
        """What the commands say, after they ended well."""
        done = subprocess.run(
            ["nsenter", "--target", self.first, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--root", f"--wdns={HOME}"]
            + ["env", "-i", f"HOME={HOME}", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "TERM=dumb"]
            + ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-euo", "pipefail", "-c", text],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"{self.name}: exit code {done.returncode}: {text}\n{done.stdout}")
        return done

    def folder(self, path):
        """A path of the host's, as this machine sees it."""
        return Path(f"/proc/{self.first}/root{path}")

    def close(self):
        self.process.kill()
        self.process.wait()
        for group in self.groups:
            for nested, _, _ in os.walk(group, topdown=False):
                self._remove(nested)

    @staticmethod
    def _remove(group):
        """Its last processes may still be about to end."""
        for _ in range(100):
            try:
                os.rmdir(group)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.05)
