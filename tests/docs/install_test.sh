#!/usr/bin/env bash
# install_test.sh BUILD TESTS PROMTOOL: installs BUILD, moves the tree, and uses what it has from there. PROMTOOL may be none.
set -euo pipefail
build=$1 tests=$2 promtool=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first=$scratch/first tree=$scratch/moved
die() { echo "install_test: $*" >&2; exit 1; }
# shows TEXT COMMAND...: the command succeeds and says this.
shows() {
  local text=$1 said
  shift
  said=$("$@" 2>&1) || die "failed: $*: $said"
  [[ $said = *"$text"* ]] || die "no '$text' in what this says: $*: $said"
}

cmake --install "$build" --prefix "$first" >/dev/null
mv "$first" "$tree"
cd "$scratch"

shows troupe "$tree/bin/troupe" --version
for config in demo cluster; do
  shows '' "$tree/bin/troupe" config check "$tree/share/troupe/configs/$config.yaml"
done

# The scripts, found by their links, find what they need. Nothing here needs a network.
shows 'troupe-fetch-data cifar10|mnist|fashion-mnist DIR' "$tree/bin/troupe-fetch-data" --help
code=0
said=$(PATH=$tree/bin:/usr/bin:/bin troupe-fetch-data mnist data --source nowhere 2>&1) || code=$?
[ "$code" = 2 ] && [[ $said = *"no source 'nowhere'"* ]] || die "fetch-data: code $code: $said"
code=0
said=$(PATH=$tree/bin:/usr/bin:/bin https_proxy=http://127.0.0.1:9 troupe-fetch-data mnist data --source site 2>&1) || code=$?
[ "$code" = 1 ] && [[ $said = *"train-images-idx3-ubyte"* ]] || die "fetch-data without a network: code $code: $said"
[ -x "$tree/lib/troupe/tools/cifar10-from-png" ] || die "cifar10-from-png is not there"
shows 'troupe-make-certs DIR' "$tree/bin/troupe-make-certs" --help
shows 'made 127.0.0.1 in certs' "$tree/bin/troupe-make-certs" certs 127.0.0.1
shows OK openssl verify -CAfile certs/ca.crt certs/127.0.0.1.crt

# The pages, as the unit names them: by where the tree was installed.
unit=$tree/lib/systemd/system/troupe-node.service
read -ra pages < <(sed -n 's/^Documentation=//p' "$unit")
[ ${#pages[@]} -gt 0 ] || die "the unit names no page"
for page in "${pages[@]}"; do
  [[ $page = "file://$first/"* ]] || die "the unit names $page, outside of the tree"
  [ -f "$tree${page#"file://$first"}" ] || die "the unit names $page, which is not there"
done
python3 "$tests/docs/check_pages.py" "$tree/share/doc/troupe" "$tree/bin/troupe"

[ -f "$tree/share/troupe/dashboards/provisioning/dashboards/troupe.yaml" ] || die "no provisioning for Grafana"
if [ -x "$promtool" ]; then
  shows SUCCESS "$promtool" check config "$tree/share/troupe/dashboards/prometheus.yml"
fi
if outside=$(grep -rIl --exclude=troupe-node.service "$first" "$tree"); then
  die "these files name the folder of the installation: $outside"
fi
