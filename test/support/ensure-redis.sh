#!/usr/bin/env bash
# The tests start redis-server by themselves; here it is installed where it is missing. No service is started.
set -euo pipefail

if command -v redis-server >/dev/null 2>&1; then
  exit 0
fi

fail() {
  echo "ensure-redis: $1" >&2
  exit 1
}

command -v apt-get >/dev/null 2>&1 ||
  fail "redis-server is not on PATH, and there is no apt-get to install it with. Install Redis 7 or newer, then run the tests again."

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 ||
    fail "redis-server is not on PATH, and without root or sudo it cannot be installed. Run 'apt-get install redis-server' as root."
  as_root=(sudo)
fi

echo "ensure-redis: redis-server is not on PATH; installing Debian's package 'redis-server' with apt-get, without starting its service."

# Debian's packages ask policy-rc.d before they start a service: 101 means no. One that is there already is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q --no-install-recommends redis-server
}
install || { "${as_root[@]}" apt-get update -q && install; } ||
  fail "apt-get could not install redis-server. Install Redis 7 or newer by hand, then run the tests again."

command -v redis-server >/dev/null 2>&1 || fail "redis-server was installed but is not on PATH."
