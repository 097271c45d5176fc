# shellcheck shell=bash
# Bare Debian systems in folders, for the scripts that prove what works on one. Needs root; source
# lib/common.sh first.
: "${root:?}"

need_chroot() {
  [ "$(id -u)" = 0 ] || die "needs root, for chroot"
  command -v debootstrap >/dev/null && return
  say "installing debootstrap"
  as_root apt-get -qq install -y --no-install-recommends debootstrap >/dev/null
}

# bare_debian SUITE DIR: makes a bare system in DIR unless one exists.
bare_debian() {
  local suite=$1 target=$2 mirror
  [ ! -e "$target/.troupe-$suite" ] || return 0
  [ -z "$(ls -A "$target" 2>/dev/null)" ] || die "$target is not empty and was not made here for $suite"
  mirror=$(debian_mirror)
  say "debootstrap $suite"
  mkdir -p "$target"
  debootstrap --variant=minbase "$suite" "$target" "$mirror" >"$target.log" 2>&1 ||
    { tail -n 5 "$target.log" >&2; die "debootstrap failed (log: $target.log)"; }
  mv "$target.log" "$target/debootstrap.log"
  # Writes packages without syncing each file: the system need not survive a power failure.
  echo force-unsafe-io >"$target/etc/dpkg/dpkg.cfg.d/unsafe-io"
  # Starts no services. Copies this host's apt settings about dates, because the same mirror is
  # used.
  printf '#!/bin/sh\nexit 101\n' >"$target/usr/sbin/policy-rc.d"
  chmod 755 "$target/usr/sbin/policy-rc.d"
  apt-config dump | grep -E '^Acquire::Check-(Date|Valid-Until) ' >"$target/etc/apt/apt.conf.d/90host" || true
  in_chroot "$target" apt-get -qq update
  touch "$target/.troupe-$suite"
}

# in_chroot DIR COMMAND...: runs COMMAND with a clean environment. Mounts live in a private
# namespace, so none remains. $network=none: only loopback.
in_chroot() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare -m ${network:+--net} --propagation private bash -c '
    set -e
    target=$1 network=$2
    shift 2
    [ -z "$network" ] || ip link set lo up
    mount -t proc proc "$target/proc"
    mount --rbind /dev "$target/dev"
    mount --rbind /sys "$target/sys"
    cp -L /etc/resolv.conf /etc/hosts "$target/etc/"
    cd "$target"
    exec chroot "$target" env -i "$@"' _ "$1" "${network:-}" \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "${@:2}"
}

# copy_tree DIR: copies this tree without .deps/ and build/: files that are tracked or not ignored.
# Deletes files in DIR that were deleted here. Keeps unchanged files, and gives new ones the current
# time, so that a build in DIR notices them.
copy_tree() {
  local tree=$1 files file
  files=$(mktemp)
  mkdir -p "$tree"
  git -C "$root" ls-files --cached --others --exclude-standard |
    while read -r file; do [ ! -e "$root/$file" ] || echo "$file"; done | sort >"$files"
  (cd "$tree" && find . \( -path ./.deps -o -path ./build -o -path ./datasets \) -prune -o ! -type d -print |
    cut -c 3- | sort | comm -23 - "$files" | xargs -r -d '\n' rm -f)
  while read -r file; do
    cmp -s "$root/$file" "$tree/$file" || (cd "$root" && cp --parents "$file" "$tree/")
  done <"$files"
  rm -f "$files"
}
