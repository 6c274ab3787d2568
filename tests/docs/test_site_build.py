"""Small sites, built with the project's own configuration: what is an error, and what a valid site has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_CONFIGURATION = f"""\
INHERIT: {ROOT}/mkdocs.yml
hooks: [{ROOT}/scripts/docs_site/hooks.py]
extra:
  reference: {{packages: [sample], modules: []}}
nav: [index.md, {{API: [api/*.md]}}, {{Project: [project/*.md]}}
"""

_GOOD_MODULE = '''\
"""A sample.

::

    sample.work()
"""

__all__ = ["LIMIT", "work"]

LIMIT = 3
"""The most."""


def work(number: int) -> int:
    """Work.

    Args:
        number: How often.
    """
    return number
'''

_BAD_MODULE = '''\
"""A sample."""

__all__ = ["LIMIT", "work"]

LIMIT = 3


def work(number: int) -> int:
    """Work.

    Args:
        count: There is no such parameter.
    """
    return number
'''

_PICTURE = "![Parts](images/parts.svg)\n"


def _build(folder: Path, files: dict[str, str], more_nav: str = "") -> subprocess.CompletedProcess[str]:
    """Build a site of these files, and a picture."""
    files = {"docs/images/parts.svg": "<svg class='parts'></svg>", **files}
    files["mkdocs.yml"] = f"{_CONFIGURATION.rstrip()}{more_nav}]\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--config-file", str(folder / "mkdocs.yml")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_good_site(tmp_path: Path) -> None:
    done = _build(
        tmp_path,
        {
            "docs/index.md": (
                f"# Home\n\n{_PICTURE}\n<!-- run python\nhidden = 1\n-->\n"
                "See [how](../CONTRIBUTING.md#set-up_1).\n"
            ),
            "CONTRIBUTING.md": "# Contributing\n\n## Set up\n\n## Set up\n\nBack [home](docs/index.md).\n",
            "sample/__init__.py": _GOOD_MODULE,
        },
    )
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "<svg class='parts'>" in home
    assert "hidden = 1" not in home
    assert 'href="project/contributing.html#set-up_1"' in home
    api = (tmp_path / "site" / "api" / "sample.html").read_text(encoding="utf-8")
    assert 'id="sample.work"' in api
    assert "How often." in api
    assert "The most." in api
    assert "::" not in api.partition("<article")[2].partition("</article>")[0]


def test_each_fault_is_an_error(tmp_path: Path) -> None:
    done = _build(
        tmp_path,
        {
            "docs/index.md": (
                f"# Home\n\n{_PICTURE}\n[a](gone.md) [b](#nowhere) [c](other.md#nowhere) [d](../gone.py)\n\n"
                "![e](https://example.com/e.png)\n"
            ),
            "docs/other.md": "# Other\n",
            "docs/forgotten.md": "# Not in the navigation\n",
            "sample/__init__.py": _BAD_MODULE,
        },
        more_nav=", other.md, missing.md",
    )
    assert done.returncode != 0
    for fault in (
        "'gone.md', but the target is not found",
        "'#nowhere'",
        "'other.md#nowhere'",
        "'../gone.py'",
        "index.md loads https://example.com/e.png from another host",
        "forgotten.md",
        "'missing.md'",
        "sample.LIMIT is public and has no docstring",
        "Parameter 'count' does not appear in the function signature",
    ):
        assert fault in done.stderr, (fault, done.stderr)
