#!/usr/bin/env bash
# install_test.sh BUILD TESTS PROMTOOL: installs BUILD, moves the tree, and uses what it has from there. PROMTOOL may be none.
set -euo pipefail
build=$1 tests=$2 promtool=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first=$scratch/first tree=$scratch/moved
die() { echo "install_test: $*" >&2; exit 1; }
# ends CODE TEXT COMMAND...: the command ends with the exit code and says this.
ends() {
  local wanted=$1 text=$2 code=0 said
  shift 2
  said=$("$@" 2>&1) || code=$?
  [ "$code" = "$wanted" ] || die "exit code $code, not $wanted: $*: $said"
  [[ $said = *"$text"* ]] || die "no '$text' in what this says: $*: $said"
}
shows() { ends 0 "$@"; }

cmake --install "$build" --prefix "$first" >/dev/null
mv "$first" "$tree"
cd "$scratch"

shows troupe "$tree/bin/troupe" --version
for config in configs/demo configs/cluster node; do
  shows ok "$tree/bin/troupe" config check "$tree/share/troupe/$config.yaml"
done

# What man and the shells look for.
for page in man1/troupe.1 man1/troupe-train.1 man1/troupe-make-certs.1 man5/troupe.yaml.5; do
  [ -s "$tree/share/man/$page" ] || die "no manual page $page"
done
for file in bash-completion/completions/troupe zsh/site-functions/_troupe zsh/vendor-completions/_troupe \
  fish/vendor_completions.d/troupe.fish; do
  [ -s "$tree/share/$file" ] || die "no $file"
done

# The scripts, found by their links, find what they need. Nothing here needs a network.
shows 'troupe-fetch-data cifar10|mnist|fashion-mnist|kjv|docs|gpt2-tokenizer DIR' "$tree/bin/troupe-fetch-data" --help
ends 2 "no source 'nowhere'" "$tree/bin/troupe-fetch-data" mnist data --source nowhere
# A proxy where nobody is: the files that are missing are known by the checksums that were installed.
ends 1 train-images-idx3-ubyte env https_proxy=http://127.0.0.1:9 "$tree/bin/troupe-fetch-data" mnist data --source site
[ -x "$tree/lib/troupe/tools/cifar10-from-png" ] || die "cifar10-from-png is not there"
shows 'troupe-make-certs DIR' "$tree/bin/troupe-make-certs" --help
shows 'made 127.0.0.1 in certs' "$tree/bin/troupe-make-certs" certs 127.0.0.1
shows OK openssl verify -CAfile certs/ca.crt certs/127.0.0.1.crt

# The pages, as the unit names them: by where the tree was installed.
unit=$tree/lib/systemd/system/troupe-node@.service
mapfile -t pages < <(sed -n 's/^Documentation=//p' "$unit" | tr ' ' '\n' | grep -v '^man:')
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
if outside=$(grep -rIl --exclude=troupe-node@.service "$first" "$tree"); then
  die "these files name the folder of the installation: $outside"
fi
