#!/usr/bin/env python3
# operating_test.py ROOT DEB PROMETHEUS PROMTOOL: follows docs/operating.md line by line, on two hosts with systemd in namespaces
# (hosts.py). What this machine has no network, no package or no second machine for is done by what stands in for it. Exit code 77:
# it has no namespaces for us.
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT, DEB, PROMETHEUS, PROMTOOL = (Path(argument) for argument in sys.argv[1:])
sys.path.insert(0, str(ROOT / "tests/docs"))
from guide import changed, die  # noqa: E402
from hosts import HOME, Host, Network, NotHere, check_machine  # noqa: E402
from jobs import until, write_idx  # noqa: E402
from pages import fences  # noqa: E402

RUN = "/var/lib/troupe/node/runs/fashion"
# By the first line of a fence: what of it is another here. The job must not end while it is looked at.
CHANGES = {
    "troupe-fetch-data fashion-mnist /srv/troupe/data/fashion-mnist": [("troupe-fetch-data fashion-mnist", "mkdir -p")],
    "troupe-make-certs certs 10.0.0.1 10.0.0.2": [("scp", "true")],
    "cat >/etc/troupe/node.yaml <<'END'": [("epochs: 10\n", "epochs: 100000\n")],
    "apt-get install -y prometheus": [("apt-get install -y prometheus", "systemctl start prometheus")],
}
GRAFANA = "/usr/lib/grafana.py"  # a copy: a host covers folders of this machine, such as /tmp, and the checkout may lie there
UNITS = {
    # As Debian's has it.
    "prometheus": "ExecStart=/usr/bin/prometheus --config.file=/etc/prometheus/prometheus.yml --storage.tsdb.path=/var/lib/prometheus\n",
    # Fails unless what Grafana would read is there.
    "grafana-server": f"Type=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/python3 {GRAFANA} /etc/grafana/provisioning\n",
}


def next_version(deb, folder):
    """The package again, as version 0.2.1."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(changed(control.read_text(), [("Version: 0.2.0\n", "Version: 0.2.1\n")], "control"))
    newer = folder / "troupe_0.2.1_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, newer], check=True, stdout=subprocess.DEVNULL)
    return newer


class Following:
    def __init__(self, hosts, scratch):
        self.hosts, self.first, self.second = hosts, *hosts
        for host in hosts:
            for deb in (DEB, next_version(DEB, Path(tempfile.mkdtemp(dir=scratch)))):
                shutil.copy(deb, host.folder(f"{HOME}/{deb.name}"))
        for program in (PROMETHEUS, PROMTOOL):
            shutil.copy(program, self.first.folder(f"/usr/bin/{program.name}"))
        self.first.run("mkdir -p /etc/prometheus /etc/grafana/provisioning")
        shutil.copy(ROOT / "tests/packaging/grafana.py", self.first.folder(GRAFANA))
        for name, service in UNITS.items():
            self.first.folder(f"/etc/systemd/system/{name}.service").write_text(f"[Service]\n{service}")
        # A file that is not there yet would keep it from starting before the page has copied its own.
        self.first.folder("/etc/prometheus/prometheus.yml").write_text("scrape_configs: []\n")
        self.checks = {
            f"apt-get install -y ./{DEB.name}": lambda _: self.has_unit(),
            "troupe-fetch-data fashion-mnist /srv/troupe/data/fashion-mnist": lambda _: self.give_data(),
            "troupe-make-certs certs 10.0.0.1 10.0.0.2": lambda _: self.give_certificates(),
            "systemctl enable --now troupe-node@node": lambda _: self.trains(after=0),
            "systemctl kill --kill-whom=main --signal=KILL troupe-node@node": lambda _: self.is_back(),
            "troupe status 10.0.0.1:7401 --config /etc/troupe/node.yaml": self.shows_both,
            "apt-get install -y prometheus": lambda _: self.is_watched(),
            "journalctl -u troupe-node@node -n 5": self.shows_log,
            "troupe stop 10.0.0.1:7401 --wait --config /etc/troupe/node.yaml": lambda _: self.has_stopped(),
            "apt-get install -y ./troupe_0.2.1_amd64.deb": lambda _: self.is_newer(),
            "systemctl stop troupe-node@node": lambda _: self.has_stopped(),
            "rm -r /var/lib/troupe/node/runs": lambda _: self.has_stopped(),
            "systemctl start troupe-node@node": lambda _: self.trains(after=self.stopped_at),
            "systemctl disable --now troupe-node@node": lambda _: self.is_gone(),
        }
        self.stopped_at, self.begun = 0, time.monotonic()

    def follow(self, page):
        left = set(self.checks)
        for fence in fences(page):
            kind, _, name = fence.info.partition(" ")
            if kind != "sh":
                continue
            begin, text = fence.lines[0], changed(fence.text, CHANGES.get(fence.lines[0], ()), f"line {fence.number}")
            said = ""
            for host in self.hosts:
                if name in ("", host.name):
                    print(f"{time.monotonic() - self.begun:5.1f} s {host.name}: {begin}", flush=True)
                    said = host.run(text).stdout
            if begin in left:
                left.remove(begin)
                self.checks[begin](said)
        if left:
            die(f"{page.name} has no fence that begins with: {', '.join(left)}")

    def has_unit(self):
        """Of which systemd has nothing to say, and which is not more open than it was."""
        if said := self.first.run("systemd-analyze verify --man=no troupe-node@node.service").stdout:
            die(f"systemd says of the unit: {said}")
        self.first.run("systemd-analyze security --threshold=36 --no-pager troupe-node@node.service")

    def give_data(self):
        for host in self.hosts:
            write_idx(host.folder("/srv/troupe/data/fashion-mnist"))

    def give_certificates(self):
        for file in ("10.0.0.2.crt", "10.0.0.2.key", "ca.crt"):
            shutil.copy(self.first.folder(f"{HOME}/certs/{file}"), self.second.folder(f"{HOME}/{file}"))

    def steps(self):
        lines = self.first.run(f"cat {RUN}/events.jsonl", check=False).stdout.splitlines()
        return sum(line.startswith("{") and line.endswith("}") for line in lines)

    def trains(self, after):
        """With a checkpoint, as a user of its own, who cannot read the keys' files."""
        until("the job trains", lambda: self.steps() > after + 10 and self.first.run(f"ls {RUN}/checkpoints", check=False).stdout)
        for host in self.hosts:
            user = host.run("ps -o user= -p $(systemctl show -P MainPID troupe-node@node)").stdout.strip()
            if user in ("", "root"):
                die(f"{host.name}: the service runs as '{user}'")

    def is_back(self):
        """The node that was killed, in the job that the other one has kept."""
        before = self.steps()
        restarts = "systemctl show -P NRestarts troupe-node@node"
        until("systemd starts it again", lambda: self.second.run(restarts).stdout == "1\n")
        changes = lambda: [json.loads(line) for line in self.first.run(f"cat {RUN}/recoveries.jsonl", check=False).stdout.splitlines()]
        until("it takes part again", lambda: len(found := changes()) > 0 and found[-1]["world_size"] == 2)
        self.trains(after=before)
        if not changes()[0]["is_loss"] or self.first.run(restarts).stdout != "0\n":
            die(f"the job was begun again: {changes()}")

    def shows_both(self, said):
        for address in ("10.0.0.1:7401", "10.0.0.2:7401"):
            if address not in said:
                die(f"troupe status does not tell of {address}:\n{said}")

    def ask_prometheus(self, path):
        said = self.first.run(f"curl -s 'http://127.0.0.1:9090/api/v1/{path}'", check=False).stdout
        return json.loads(said)["data"] if said.startswith("{") else {}

    def is_watched(self):
        def up():
            targets = self.ask_prometheus("targets").get("activeTargets", [])
            return {target["labels"]["node"] for target in targets if target["health"] == "up"} == {"node-1", "node-2"}

        until("Prometheus sees both nodes", up)
        rules = [rule["name"] for group in self.ask_prometheus("rules")["groups"] for rule in group["rules"]]
        if "TroupeJobFailed" not in rules:
            die(f"Prometheus has these rules alone: {rules}")

    def shows_log(self, said):
        if "troupe[" not in said:
            die(f"journalctl has no line of troupe:\n{said}")

    def has_stopped(self):
        """All nodes, each with exit code 0, so that none is started again."""
        for host in self.hosts:
            until(f"{host.name} stops", lambda host=host: host.run("systemctl is-active troupe-node@node", check=False).stdout == "inactive\n")
        self.stopped_at = self.steps()

    def is_newer(self):
        before = self.stopped_at
        self.trains(after=before)
        for host in self.hosts:
            version = host.run("dpkg-query -W -f='${Version}' troupe").stdout
            if version != "0.2.1" or "advertise: 10.0.0" not in host.run("cat /etc/troupe/node.yaml").stdout:
                die(f"{host.name} has version {version}, or another config")
        line = self.first.run("journalctl -u troupe-node@node -o cat -n 1").stdout
        if json.loads(line)["event"] not in ("step", "epoch", "log"):
            die(f"no line of a log in JSON: {line}")

    def is_gone(self):
        for host in self.hosts:
            left = host.run("ls -d /usr/bin/troupe* /usr/*/troupe /usr/share/doc/troupe /etc/troupe /var/lib/troupe /var/lib/private/troupe", check=False)
            if found := [line for line in left.stdout.splitlines() if "cannot access" not in line]:
                die(f"{host.name} still has {found}")


def main():
    scratch, network, hosts = tempfile.mkdtemp(), None, []
    try:
        check_machine()
        network = Network(2)
        for number in (1, 2):
            hosts.append(Host(f"node-{number}", network.name(number), scratch))
        Following(hosts, scratch).follow(ROOT / "docs/operating.md")
    except NotHere as reason:
        print(f"skipped: {reason}")
        return 77
    except (Exception, SystemExit):
        for host in hosts:
            print(host.run("journalctl -u troupe-node@node -n 30 --no-pager", check=False).stdout)
        raise
    finally:
        for host in hosts:
            host.close()
        if network:
            network.close()
        shutil.rmtree(scratch)
    return 0


sys.exit(main())
