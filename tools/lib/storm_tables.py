"""Input of all scenarios of a storm: the config, good and bad tables of data, and certificates."""
import pathlib
import shutil
import subprocess

import chaos_job
import sample_counts

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_HOSTS = 8
BAD = ("other", "fewer")  # tables of joining daemons that must be refused: one row differs; rows are missing


def write(folder):
    """Writes all files once; scenarios only read them."""
    good = folder / "good"
    good.mkdir(parents=True)
    names = chaos_job.write_samples(good)
    for name in BAD:
        shutil.copytree(good, folder / name)
    rows = (good / "train.csv").read_text().splitlines()
    (folder / "other/train.csv").write_text("\n".join([*rows[:-1], rows[-1].replace("1,1,2,3", "1,1,2,4")]) + "\n")
    (folder / "fewer/train.csv").write_text("\n".join(rows[: -chaos_job.SLICES]) + "\n")
    sample_counts.write_zeros(folder / "zeros.safetensors")
    settings = {key: value for key, value in sample_counts.SETTINGS.items() if not key.startswith("cluster.")}
    settings |= {"data.table.features": names, "model.pretrained": str(folder / "zeros.safetensors"), "checkpoint.keep": 2}
    chaos_job.write_config(folder, settings)
    certify = [ROOT / "tools/make-certs", folder / "certificates", "admin", *(f"host-{host}" for host in range(1, MOST_HOSTS + 1))]
    subprocess.run(certify, check=True, capture_output=True)


def files(folder, name):
    of = folder / "certificates"
    return of / f"{name}.crt", of / f"{name}.key", of / "ca.crt"


def tls(folder, host):
    names = ("cluster.tls.certificate", "cluster.tls.key", "cluster.tls.ca")
    return dict(zip(names, files(folder, f"host-{host}")))


def credentials(folder):
    """Arguments of `troupe status` and `troupe stop`."""
    words = []
    for option, file in zip(("--tls-cert", "--tls-key", "--tls-ca"), files(folder, "admin")):
        words += [option, file]
    return words
