"""Emulated hosts on this machine: network namespaces on a bridge, each with one address (tools/network-namespaces; needs root)."""
import os
import pathlib
import subprocess

NAMESPACES = pathlib.Path(__file__).resolve().parents[1] / "network-namespaces"
PORT = 7401  # port of every daemon


class NetworkHosts:
    """Hosts 1 to `count`. `rate` limits the traffic that each sends."""

    def __init__(self, count, rate="1gbit", prefix=None):
        self.hosts = count
        self.prefix = prefix or f"re{os.getpid()}"
        up = subprocess.run([NAMESPACES, "up", self.prefix, str(count), rate], check=True, capture_output=True, text=True)
        self.network = up.stdout.strip()

    def remove(self):
        """Also kills every process that still runs on a host."""
        subprocess.run([NAMESPACES, "down", self.prefix], check=True)

    def on(self, host, *words):
        """The command line that runs these words on the host."""
        return ["ip", "netns", "exec", f"{self.prefix}-{host}", *map(str, words)]

    def ip(self, host):
        return f"{self.network}.{host}"

    def address(self, host):
        return f"{self.ip(host)}:{PORT}"

    def filter(self, host, rules):
        """Replaces the host's packet filter by these rules for incoming packets; without rules it accepts all."""
        chain = "table inet filter { chain in { type filter hook input priority filter;\n" + "".join(f"{rule}\n" for rule in rules) + "}\n}\n"
        text = "flush ruleset\n" + (chain if rules else "")
        subprocess.run(self.on(host, "nft", "-f", "-"), input=text, text=True, check=True)

    def processes(self, host):
        listed = subprocess.run(["ip", "netns", "pids", f"{self.prefix}-{host}"], capture_output=True, text=True, check=False)
        return [int(word) for word in listed.stdout.split()]
