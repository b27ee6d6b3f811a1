#!/bin/sh
# Installs the named Debian packages without starting their services, now or with the machine:
#   install_peers.sh rabbitmq-server redis-server ...
# The benchmarks start servers of their own, on private ports.  Packages that are there are left as
# they are, and so are their services.  `make peers` calls it.
set -eu

policy=/usr/sbin/policy-rc.d

missing=""
for package in "$@"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "installed already: $*"
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "only root can install$missing: sudo make peers" >&2
    exit 1
fi

# Packages ask this program whether they may start their services; 101 is no (invoke-rc.d(8)).  A
# policy that the machine already has stays in force.
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt-get update -q
# Each package is a word.
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
for package in $missing; do
    # One without a service of its name has nothing to disable.
    if [ -e "/etc/init.d/$package" ]; then
        update-rc.d "$package" disable
    fi
    if command -v systemctl >/dev/null && [ -e "/lib/systemd/system/$package.service" ]; then
        systemctl disable "$package.service"
    fi
done
