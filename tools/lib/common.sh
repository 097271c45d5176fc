# shellcheck shell=bash
# Helpers of the scripts in tools/: messages, root, this host's Debian mirror, a private apt.
# Source it after setting `program` (the prefix of each message).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=$root/.deps
program=${program:-$(basename "$0")}

say() { echo "$program: $*" >&2; }
die() { say "$*"; exit 1; }

# Prints the comment at the head of the script, with the name by which it was called: an installed
# script has another name.
usage() { sed -n "2,/^set/{/^set/d;s/^# \{0,1\}//;s|^tools/$program|$0|;p}" "$0"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    die "needs root for: $* (run as root, or install sudo)"
  fi
}

# Prints "bookworm", "trixie", ...; nothing on other systems than Debian.
debian_codename() {
  (
    # shellcheck source=/dev/null
    . /etc/os-release 2>/dev/null
    [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-sid}"
  ) || true
}

# Prints the Debian mirror that this host's apt uses, so that a configured mirror is honoured and
# this file contains no host name.
debian_mirror() {
  local mirror=${TROUPE_DEBIAN_MIRROR:-}
  # shellcheck disable=SC2016  # $(SITE) is apt's
  [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
    'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1 || true)
  # apt knows no origins before the first `apt-get update`: read the sources themselves.
  [ -n "$mirror" ] || mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' | grep -v security | head -n 1 || true)
  [ -n "$mirror" ] || mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb[[:space:]]\(\[[^]]*\][[:space:]]*\)\{0,1\}\([^[:space:]]*\).*/\2/p' |
    grep -v security | head -n 1 || true)
  [ -n "$mirror" ] || die "no Debian mirror found in this host's apt sources: set TROUPE_DEBIAN_MIRROR"
  echo "${mirror%/}"
}

debian_keyring() { echo /usr/share/keyrings/debian-archive-keyring.gpg; }

# private_apt_update "SUITE COMPONENT [TYPE]"...: reads the indexes of suites that this host's apt
# does not use, into .deps/apt. Does not change the host's sources.
private_apt_update() {
  local dir=$deps/apt mirror suite component type signed='' keyring
  mirror=$(debian_mirror)
  keyring=$(debian_keyring)
  [ ! -e "$keyring" ] || signed="[signed-by=$keyring] "
  mkdir -p "$dir/lists/partial" "$dir/archives/partial"
  for wanted in "$@"; do
    read -r suite component type <<<"$wanted"
    echo "${type:-deb} $signed$mirror $suite $component"
  done >"$dir/sources.list"
  # The sandbox user _apt often cannot write below a checkout; signatures are checked anyway. A
  # mirror may keep a suite after its Release file has expired (Debian's experimental, snapshots).
  # Nothing depends on that date: the source of CAF is verified by its sha256, and packages by the
  # suite's signature.
  cat >"$dir/apt.conf" <<EOF
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$dir/lists";
Dir::Cache "$dir";
Dir::Cache::archives "$dir/archives";
APT::Sandbox::User "root";
APT::Update::Post-Invoke-Success "";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::Check-Valid-Until "false";
EOF
  private_apt -qq -o APT::Update::Error-Mode=any update 1>&2
}

# An apt-get that uses only the indexes read by private_apt_update.
private_apt() { APT_CONFIG=$deps/apt/apt.conf apt-get "$@"; }

# Reads apt's lists again after a failed attempt: they may be missing or stale.
apt_update() { as_root apt-get -qq -o DPkg::Lock::Timeout=600 update 1>&2 2>/dev/null || true; }

# apt_download DIR PACKAGE...: downloads the packages' files into DIR.
apt_download() {
  local dir=$1
  shift
  (
    cd "$dir" || exit
    apt-get -qq -o APT::Sandbox::User=root download "$@" 2>/dev/null && exit
    apt_update
    apt-get -qq -o APT::Sandbox::User=root download "$@"
  ) 1>&2
}

# apt_newest EXPRESSION: prints the package whose whole name matches and contains the highest
# version.
apt_newest() {
  apt_names "$1" || { apt_update && apt_names "$1"; }
}
apt_names() { apt-cache pkgnames 2>/dev/null | grep -xE "$1" | sort -V | tail -n 1; }

# verify_sha256 FILE SUM: returns the result as an exit status, without output.
verify_sha256() { echo "$2  $1" | sha256sum --check --status 2>/dev/null; }
