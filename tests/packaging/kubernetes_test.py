#!/usr/bin/env python3
# kubernetes_test.py ROOT PROGRAM: checks what is in packaging/kubernetes, and runs it: its pods as processes in namespaces (pods.py).
# Exit code 77: python3-kubernetes is not installed, or this machine has no namespaces for us.
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
    from kubernetes_api import problems
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-kubernetes)")
    sys.exit(77)
from jobs import die, until, write_idx
from pods import Hosts, Pod

ROOT, PROGRAM = (Path(argument) for argument in sys.argv[1:])
USER = 7401


def manifests():
    read = [document for file in sorted((ROOT / "packaging/kubernetes").glob("*.yaml")) for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    if found := [line for document in read for line in problems(document)]:
        die("\n".join(found))
    return {document["kind"]: document for document in read}


def check_names(known):
    """What one manifest says of another."""
    service, config, claim, pods = (known[kind] for kind in ("Service", "ConfigMap", "PersistentVolumeClaim", "StatefulSet"))
    template, labels = pods["spec"]["template"], pods["spec"]["selector"]["matchLabels"]
    (container,) = template["spec"]["containers"]
    volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]} | {volume["metadata"]["name"]: volume for volume in pods["spec"]["volumeClaimTemplates"]}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    node = yaml.safe_load(config["data"]["node.yaml"])
    seconds = int(node["cluster"]["timeouts"]["drain"].removesuffix("s"))
    for wrong, text in (
        (pods["spec"]["serviceName"] != service["metadata"]["name"], "the service has another name"),
        (labels != template["metadata"]["labels"] or labels != service["spec"]["selector"], "labels differ"),
        ({port["name"]: port["port"] for port in service["spec"]["ports"]} != ports, "ports differ"),
        (not service["spec"]["publishNotReadyAddresses"], "pods would have no names until they train"),
        (volumes["config"]["configMap"]["name"] != config["metadata"]["name"], "the ConfigMap has another name"),
        (volumes["data"]["persistentVolumeClaim"]["claimName"] != claim["metadata"]["name"], "the claim has another name"),
        ({mount["name"] for mount in container["volumeMounts"]} != set(volumes), "volumes and mounts differ"),
        ({probe["httpGet"]["port"] for probe in (container["startupProbe"], container["livenessProbe"], container["readinessProbe"])} != {"metrics"}, "probes ask another port"),
        (template["metadata"]["annotations"]["prometheus.io/port"] != str(ports["metrics"]), "Prometheus would ask another port"),
        (template["spec"]["terminationGracePeriodSeconds"] < seconds + 15, "pods are killed while they drain"),
        (node["cluster"]["nodes"]["max"] != pods["spec"]["replicas"], "nodes.max is not the number of replicas"),
        (node["cluster"]["join"] != [f"{pods['metadata']['name']}-{i}.{service['metadata']['name']}:{ports['cluster']}" for i in range(pods["spec"]["replicas"])], "pods would not find each other"),
        (node["cluster"]["listen"] != {"address": f"0.0.0.0:{ports['cluster']}", "data_port": ports["data"]}, "the config has other ports"),
    ):
        if wrong:
            die(text)


class Volumes:
    """Folders in the place of volumes."""

    def __init__(self, scratch, known):
        self.scratch = scratch
        scratch.chmod(0o755)
        self.shared = {name: self.folder(name) for name in ("config", "tls", "data", "program")}
        shutil.copy(PROGRAM, self.shared["program"] / "troupe")
        # It must not end while it is looked at.
        config = known["ConfigMap"]["data"]["node.yaml"].replace("epochs: 10\n", "epochs: 100000\n")
        (self.shared["config"] / "node.yaml").write_text(config, encoding="utf-8")
        subprocess.run([ROOT / "tools/make-certs", scratch / "certs", "troupe"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, file in (("troupe.crt", "tls.crt"), ("troupe.key", "tls.key"), ("ca.crt", "ca.crt")):
            shutil.copy(scratch / "certs" / name, self.shared["tls"] / file)
            os.chown(self.shared["tls"] / file, 0, USER)
            (self.shared["tls"] / file).chmod(0o440)
        (self.shared["data"] / "fashion-mnist").mkdir()
        write_idx(self.shared["data"] / "fashion-mnist")

    def folder(self, name):
        folder = self.scratch / name
        folder.mkdir(mode=0o755)
        return folder

    def of_pod(self, name):
        runs = self.folder(f"runs-{name}")
        os.chown(runs, USER, USER)
        return self.shared | {"runs": runs}


class Cluster:
    def __init__(self, known, scratch):
        self.prefix = f"k{os.getpid()}"
        made = self.namespaces("up", "4")
        if made.returncode == 3:
            raise NotImplementedError("no network namespaces here: they need root, and iproute2")
        self.network = made.stdout.split("\n")[0]
        spec, volumes, hosts = known["StatefulSet"]["spec"], Volumes(scratch, known), Hosts()
        names = [f"{known['StatefulSet']['metadata']['name']}-{i}" for i in range(spec["replicas"])]
        self.pods = [Pod(name, spec["template"]["spec"], volumes.of_pod(name), scratch / name, hosts) for name in names]
        self.leads(self.pods[0])

    def namespaces(self, *words):
        return subprocess.run([ROOT / "tools/network-namespaces", words[0], self.prefix, *words[1:]], check=False, text=True, stdout=subprocess.PIPE)

    def start(self, pod, host):
        pod.start(f"{self.prefix}-{host}", f"{self.network}.{host}")

    def leads(self, pod):
        self.leader, self.run = pod, pod.sources["runs"] / "fashion"

    def steps(self):
        return (self.run / "events.jsonl").read_text(encoding="utf-8").count("\n") if (self.run / "events.jsonl").exists() else 0

    def another_leads(self):
        """That one alone tells how far the job is to go."""
        others = [pod for pod in self.pods if pod is not self.leader]
        tells = [pod for pod in others if "troupe_last_step " in pod.ask("/metrics")[1]]
        if tells:
            self.leads(tells[0])
        return tells

    def trains_with(self, workers):
        """So many, and makes steps."""
        def has():
            found = re.search(r"^troupe_world_size (\d+)$", self.leader.ask("/metrics")[1], re.MULTILINE)
            return found and int(found[1]) == workers
        until(f"{workers} workers train", has)
        before = self.steps()
        until("steps are made", lambda: self.steps() > before + 5)

    def close(self):
        self.namespaces("down")


def live(cluster):
    leader, second, third = cluster.pods
    cluster.start(second, 2)
    until("pod 1 is started, and waits", lambda: second.kubelet.started)
    if second.ask("/readyz")[0] != 503:
        die("pod 1 is ready alone")
    cluster.start(third, 3)
    cluster.start(leader, 1)
    cluster.trains_with(3)
    until("all are ready", lambda: all(pod.kubelet.ready for pod in cluster.pods))
    for pod in cluster.pods:
        if pod.ask("/")[0] != 403:
            die(f"the page of {pod.name} is for everybody")

    second.kill()
    cluster.trains_with(2)
    cluster.start(second, 4)  # the same name at another address
    cluster.trains_with(3)
    until("pod 1 is ready again", lambda: second.kubelet.ready)

    leader.kill()
    until("another pod leads", cluster.another_leads)
    cluster.trains_with(2)
    cluster.start(leader, 1)
    cluster.trains_with(3)

    leader = cluster.leader
    if code := leader.delete():
        die(f"{leader.name} ends with {code}")
    until("another pod leads", cluster.another_leads)
    cluster.trains_with(2)
    cluster.start(leader, 3)
    cluster.trains_with(3)

    before = cluster.steps()
    leader, following, last = cluster.leader, *(pod for pod in cluster.pods if pod is not cluster.leader)
    if code := following.delete():
        die(f"{following.name} ends with {code}")
    cluster.trains_with(2)
    if code := leader.delete():  # which saves, and ends the job: fewer than nodes.min are left
        die(f"{leader.name} ends with {code}")
    if code := last.wait():
        die(f"{last.name} ends with {code}")
    if cluster.steps() <= before or not list((cluster.run / "checkpoints").glob("step-*")):
        die("the job was not saved")
    if failed := [f"{pod.name}: {pod.kubelet.failed} has failed" for pod in cluster.pods if pod.kubelet.failed]:
        die(", ".join(failed))


def main():
    known = manifests()
    check_names(known)
    if os.geteuid() != 0:
        print("skipped: not root: there are no namespaces for us")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        try:
            cluster = Cluster(known, Path(folder))
        except NotImplementedError as reason:
            print(f"skipped: {reason}")
            return 77
        try:
            live(cluster)
        except (Exception, SystemExit):
            for pod in cluster.pods:
                print(f"--- {pod.name}\n{pod.said()[-3000:] if pod.process else 'not started'}")
            raise
        finally:
            cluster.close()
    return 0


sys.exit(main())
