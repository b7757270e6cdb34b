#!/bin/sh
# Sees to a Chromium for the tests of the studio's page. Without one these are skipped, so this says what to do and never fails.
set -eu

say() { printf 'chromium: %s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

have_chromium() { command -v chromium >/dev/null || command -v google-chrome >/dev/null; }

install_chromium() {
    if command -v apt-get >/dev/null && as_root true 2>/dev/null; then
        say 'installing chromium'
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium
    fi
}

have_chromium && exit
install_chromium >&2 || true
have_chromium ||
    say 'none. Only the browser tests of the studio need it; to have it: apt-get install chromium. Going on without.'
