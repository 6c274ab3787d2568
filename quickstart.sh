#!/usr/bin/env bash
# From a fresh clone to a queryable table: virtual environment, Pinot's jars, local cluster, one consistent ingestion.
# Needs bash, Python 3.11 or newer and a JDK of version 17 or newer. Arguments go to examples/flights.py (see --help there).
set -euo pipefail
cd "$(dirname "$0")"
. scripts/venv.sh

require_java
python=$(find_python)
"$python" scripts/check_ports.py "$@"
ensure_venv demo
.venv/bin/pinotctl jars fetch >/dev/null
exec .venv/bin/python examples/flights.py "$@"
