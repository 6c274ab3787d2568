# Sourced by quickstart.sh and test.sh: creates .venv in the current folder, with this project and an extra.

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

# ensure_venv EXTRA: installs again only if pyproject.toml has changed.
ensure_venv() {
    local extra=$1 stamp python
    stamp=$(cksum <pyproject.toml)
    if [ "$(cat ".venv/installed-$extra" 2>/dev/null)" = "$stamp" ]; then
        return
    fi
    python=$(find_python)
    printf 'Installing pinot-plugins[%s] into .venv with %s ...\n' "$extra" "$("$python" --version)" >&2
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
    printf '%s\n' "$stamp" >".venv/installed-$extra"
}

require_java() {
    if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null; then
        fail "no Java was found; install a JDK of version 17 or newer, or set JAVA_HOME to it"
    fi
}
