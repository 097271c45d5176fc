# Pods of a StatefulSet on this machine, as a kubelet would run them: the container's command, with its volumes at their paths, as its
# user, in a network namespace with an address of its own, names by /etc/hosts; and its probes.
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Hosts:
    """The addresses of pods by name, as each of them sees them."""

    def __init__(self):
        self.files, self.addresses = [], {}

    def file_for(self, folder):
        file = folder / "hosts"
        self.files.append(file)
        self.write()
        return file

    def set(self, name, address):
        self.addresses[name] = address
        self.write()

    def write(self):
        """In place: a file that is mounted stays the same."""
        text = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.addresses.items())
        for file in self.files:
            with file.open("w", encoding="ascii") as out:
                out.write(text)


class Pod:
    def __init__(self, name, spec, sources, folder, hosts):
        """`sources`: a folder for each of the volumes."""
        self.name, self.spec, self.sources, self.folder, self.hosts = name, spec, sources, folder, hosts
        (self.container,) = spec["containers"]
        folder.mkdir()
        self.hosts_file = hosts.file_for(folder)
        self.process = None

    def start(self, namespace, address):
        self.address = address
        self.hosts.set(f"{self.name}.troupe", address)
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(["ip", "netns", "exec", namespace, "bash", "-ec", self.script()], stdout=self.log, stderr=self.log)
        self.kubelet = Kubelet(self)

    def script(self):
        layer = self.folder / "layer"
        mounts = "".join(
            f"mkdir -p {mount['mountPath']}; mount --bind {self.sources[mount['name']]} {mount['mountPath']}\n"
            + (f"mount -o remount,ro,bind {mount['mountPath']}\n" if mount.get("readOnly") else "")
            for mount in self.container["volumeMounts"])
        context = self.spec["securityContext"]
        user = f"setpriv --reuid {context['runAsUser']} --regid {context['runAsGroup']} --groups {context['fsGroup']} --no-new-privs --bounding-set -all --inh-caps -all"
        environment = " ".join(f"{name}='{value}'" for name, value in self.environment().items())
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in self.container["command"] + self.container["args"])
        return f"""
            mount --make-rprivate /
            mkdir -p {layer}; mount -t tmpfs tmpfs {layer}; mkdir {layer}/upper {layer}/work
            mount -t overlay -o lowerdir=/etc,upperdir={layer}/upper,workdir={layer}/work overlay /etc
            mount -t tmpfs tmpfs /srv
            {mounts}
            mount --bind {self.hosts_file} /etc/hosts
            cd /
            exec {user} env -i {environment} {words}
        """

    def environment(self):
        values = {"PATH": f"{self.sources['program']}:/usr/bin:/bin"}
        for variable in self.container["env"]:
            assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
            values[variable["name"]] = self.name
        return values

    def said(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def ask(self, path, port="metrics", timeout=5):
        """Status and text; 0 where nothing answers."""
        (number,) = (known["containerPort"] for known in self.container["ports"] if known["name"] == port)
        try:
            with urllib.request.urlopen(f"http://{self.address}:{number}{path}", timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.kubelet.stop()

    def delete(self):
        """SIGTERM, then SIGKILL; its exit code."""
        self.process.terminate()
        return self.wait()

    def wait(self):
        try:
            return self.process.wait(self.spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.kubelet.stop()


class Kubelet:
    """Asks a container's probes, four times as often as they say."""

    def __init__(self, pod):
        self.pod, self.started, self.ready, self.failed = pod, False, False, ""
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True)]
        self.threads[0].start()

    def stop(self):
        self.done.set()
        for thread in self.threads:
            thread.join()

    def passes(self, probe):
        return 200 <= self.pod.ask(probe["httpGet"]["path"], probe["httpGet"]["port"], probe.get("timeoutSeconds", 1))[0] < 400

    def run(self):
        startup = self.pod.container["startupProbe"]
        for _ in range(startup["failureThreshold"]):
            if self.passes(startup):
                self.started = True
                break
            if self.done.wait(startup["periodSeconds"] / 4):
                return
        if not self.started:
            self.failed = "the startup probe"
            return
        self.threads.append(threading.Thread(target=self.look_at_readiness, daemon=True))
        self.threads[1].start()
        self.look_at_liveness()

    def look_at_liveness(self):
        liveness, failures = self.pod.container["livenessProbe"], 0
        while not self.done.wait(liveness["periodSeconds"] / 4) and self.pod.process.poll() is None:
            failures = 0 if self.passes(liveness) else failures + 1
            if failures == liveness["failureThreshold"] and self.pod.process.poll() is None:
                self.failed = "the liveness probe"

    def look_at_readiness(self):
        readiness = self.pod.container["readinessProbe"]
        while not self.done.wait(readiness["periodSeconds"] / 4):
            self.ready = self.passes(readiness)
