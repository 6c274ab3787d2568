#!/usr/bin/env bash
# From a fresh clone to a queryable table: virtual environment, Pinot's jars, local cluster, one consistent ingestion.
# Needs Python 3.11 or later, a JDK 17 or later, bash. Arguments go to examples/flights.py (see --help there).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-}
for candidate in $python python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
    python=
done
if [ -z "$python" ]; then
    echo "quickstart: no Python 3.11 or later was found; install one or set PYTHON to its path" >&2
    exit 1
fi

if [ ! -x .venv/bin/python ]; then
    echo "Making the virtual environment .venv with $("$python" --version) ..."
    "$python" -m venv .venv
fi
# A stamp of what was installed keeps the second start quick.
stamp=$(cksum <pyproject.toml)
if [ "$(cat .venv/quickstart.stamp 2>/dev/null || true)" != "$stamp" ]; then
    echo "Installing pinot-plugins with what the quickstart needs ..."
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
    echo "$stamp" >.venv/quickstart.stamp
fi
.venv/bin/pinotctl jars fetch
exec .venv/bin/python examples/flights.py "$@"
