#!/bin/sh
# Sees to a Java 17+ for Spark. Without one only the Spark part is missing, so this says what to do and never fails.
set -eu

say() { printf 'java: %s\n' "$*" >&2; }

is_recent() {
    major=$("$1" -version 2>&1 | sed -n 's/.* version "\([0-9][0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ]
}

# Homebrew's openjdk is not put on the PATH.
have_java() {
    for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java /opt/homebrew/opt/openjdk@17/bin/java /usr/local/opt/openjdk@17/bin/java; do
        if command -v "$java" >/dev/null && is_recent "$java"; then
            return
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

install_java() {
    if command -v apt-get >/dev/null && as_root true 2>/dev/null; then
        say 'installing openjdk-17-jre-headless'
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless ||
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless
    elif command -v brew >/dev/null; then
        say 'installing openjdk@17'
        brew install --quiet openjdk@17
    fi
}

have_java && exit
install_java >&2 || true
have_java ||
    say 'no Java 17 or newer. Only running on Spark needs it; to have it: apt-get install openjdk-17-jre-headless, or brew install openjdk@17. Going on without.'
