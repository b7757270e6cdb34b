#!/bin/sh
# Makes .venv with the locked dependencies and this package, editable. Needs Python 3.11+ or uv, nothing else.
set -eu
cd "$(dirname "$0")/.."

lock=requirements.lock
venv_python=.venv/bin/python
# Trust what the machine trusts, as pip does: a company's own index may have a certificate of its own.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if is_recent "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

make_environment() {
    rm -rf .venv
    if python=$(find_python); then
        say "creating .venv with $("$python" --version)"
        "$python" -m venv .venv && return
        # Debian and its kin keep the venv module in a package of its own.
        rm -rf .venv
    fi
    if command -v uv >/dev/null; then
        say 'creating .venv with uv'
        uv venv --quiet --seed --python "${python:-3.13}" .venv
    elif [ -n "$python" ]; then
        fail "$python cannot make a virtual environment. Install its venv module (Debian, Ubuntu: apt-get install python3-venv), then run make again."
    else
        fail 'no Python 3.11 or newer found. Install one (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python), then run make again.'
    fi
}

# A machine without uv gets the locked one, into .venv.
find_uv() {
    if command -v uv; then
        return
    fi
    if [ ! -x .venv/bin/uv ]; then
        say 'getting uv'
        sed -n '/^uv==/,/[^\\]$/p' "$lock" >.venv/uv.txt
        "$venv_python" -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt >&2
    fi
    echo .venv/bin/uv
}

install_locked() {
    "$uv" pip sync --quiet --python "$venv_python" --require-hashes "$lock" && return
    # The machine's index may be known to pip only (pip.conf, PIP_INDEX_URL).
    say 'uv failed, trying pip'
    "$venv_python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
}

is_recent "$venv_python" || make_environment
uv=$(find_uv)
say "installing the packages of $lock"
install_locked
"$uv" pip install --quiet --offline --python "$venv_python" --no-deps --no-build-isolation --editable .
"$uv" pip check --quiet --python "$venv_python" || fail "$lock no longer fits pyproject.toml: run make lock"
