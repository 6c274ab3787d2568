#!/usr/bin/env bash
# Builds the documentation into site/. Each warning is an error: a broken link or anchor, a page that the navigation
# lacks, a public name without a docstring, something that would be loaded from another host.
#
#   scripts/build-site.sh            builds it; open site/index.html, or, to search it: python -m http.server --directory site
#   scripts/build-site.sh --serve    serves it and follows changes of the pages
#
# The last line says how long it took. The build must stay under a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/venv.sh

if [ -z "${VIRTUAL_ENV:-}" ] && [ -z "${PYTHON:-}" ]; then
    ensure_venv dev
    PYTHON=.venv/bin/python
fi
PYTHON=${PYTHON:-python}

export NO_MKDOCS_2_WARNING=1 # a notice of the theme about a later MkDocs
export PYTHONPATH=$PWD
if [ "${1:-}" = --serve ]; then
    exec "$PYTHON" -m mkdocs serve
fi
TIMEFORMAT='The site took %R s, %U s of the processor.'
time "$PYTHON" -m mkdocs build --clean "$@"
