#!/usr/bin/env bash
# boot.sh NAME SCRATCH: what hosts.py runs in namespaces of its own. This machine's system under a layer in memory, which takes what is
# written; systemd as its first process, with no service of this machine's.
set -euo pipefail
name=$1 layer=$2/$1.layer system=$2/$1
mkdir "$layer" "$system"
mount -t tmpfs -o size=4g tmpfs "$layer"
mkdir "$layer/upper" "$layer/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$system"

mount -t proc proc "$system/proc"
mount --bind "$system/proc/sys" "$system/proc/sys"
mount -o remount,ro,bind "$system/proc/sys"
mount -t sysfs -o ro sysfs "$system/sys"
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 "$system/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$system/sys/fs/cgroup"
  mkdir "$system/sys/fs/cgroup/unified" "$system/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$system/sys/fs/cgroup/unified"
  mount -t cgroup -o none,name=systemd cgroup "$system/sys/fs/cgroup/systemd"
fi
mount -t tmpfs -o mode=755 tmpfs "$system/dev"
for device in null zero full random urandom tty; do
  touch "$system/dev/$device"
  mount --bind "/dev/$device" "$system/dev/$device"
done
mkdir "$system/dev/shm" "$system/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$system/dev/pts"
ln -s pts/ptmx "$system/dev/ptmx"
ln -s /proc/self/fd "$system/dev/fd"
for folder in run tmp; do mount -t tmpfs -o mode=1777 tmpfs "$system/$folder"; done
chmod 755 "$system/run"

# It is gone in a minute: what packages write need not be on a disk.
echo force-unsafe-io >"$system/etc/dpkg/dpkg.cfg.d/unsafe-io"
# The index of manual pages takes longer than all else that a package does.
rm -f "$system/var/lib/man-db/auto-update"
rm -rf "$system"/etc/systemd/system/* "$system"/var/log/journal "$system/usr/sbin/policy-rc.d"
echo "$name" >"$system/etc/hostname"
: >"$system/etc/fstab"
echo "127.0.0.1 localhost $name" >"$system/etc/hosts"
head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$system/etc/machine-id"
hostname "$name"
# Mounts that systemd makes for a service's credentials are seen by the service.
mount --make-rshared "$system"
cd "$system"
exec chroot . env -i container=troupe PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=basic.target \
  --log-target=journal --show-status=no
