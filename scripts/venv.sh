# Sourced by quickstart.sh, test.sh and others: creates a virtual environment with this project in the current
# folder, .venv or what VENV names.

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
        if [ -n "$candidate" ] &&
            "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer was found; install it with its venv module, or set PYTHON to it"
}

# ensure_venv NAME: makes it contain what requirements/NAME.txt lists, and nothing else; an environment for
# development contains all that the others do.
ensure_venv() {
    local name=$1 venv=${VENV:-.venv} state python
    state=$(cat "$venv/installed" 2>/dev/null || true)
    if [ "$state" = "$(stamp "$name")" ] || [ "$state" = "$(stamp dev)" ]; then
        return
    fi
    python=$(find_python)
    printf 'Installing requirements/%s.txt into %s with %s ...\n' "$name" "$venv" "$("$python" --version)" >&2
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    rm -f "$venv/installed"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
    "$venv/bin/uv" pip sync --quiet --python "$venv/bin/python" --require-hashes "requirements/$name.txt"
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation --editable .
    mark_venv "$name"
}

# mark_venv NAME: from now on the environment is taken for one with all of requirements/NAME.txt.
mark_venv() {
    stamp "$1" >"${VENV:-.venv}/installed"
}

stamp() {
    printf '%s %s\n' "$1" "$(cat pyproject.toml requirements/*.txt | cksum)"
}

require_java() {
    if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null; then
        fail "no Java was found; install a JDK of version 17 or newer, or set JAVA_HOME to it"
    fi
}
