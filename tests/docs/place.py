"""Where pages are run: a local cluster with its own addresses and folders instead of the pages'."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from jvm_bridge.local_cluster import HOST, ClusterPorts, KafkaPorts
from tests.docs.sessions import Python, Shell
from tests.support.local_ports import free_base
from tests.support.pinotctl import pinotctl
from tests.support.spark import LOCAL_SPARK

__all__ = ["ROOT", "Place", "correct"]

ROOT = Path(__file__).parents[2]
_ROLES = "localhost|controller|broker|zookeeper|kafka|host"
_ANY_HOST = re.compile(rf"\b({_ROLES})(?=:(9000|8099|2123|2181|9092)\b)")
S3_PORT, _S3_OFFSET = 9400, 40
"""Port of an S3 server in the pages, and its offset from the first port of this cluster."""
_SERVERS = 2
"""The most that a page has."""
_START_TIMEOUT_S = 900
"""Long enough for a cluster that starts while other tests keep the machine busy."""
_HOME, _SHARE = "/home/me", "/home/me/.local/share"


class Place:
    """One cluster for one or several pages.

    A page's text is changed in two ways before it is run: it gets the ports of this cluster, as the usual
    ones may be in use, and folders such as /data are below a folder of the test.

    Args:
        folder: A folder for this place only.
        installed: The Python of an environment with the product; None: this one, with the checkout, so that
            hidden blocks can import its tests.
    """

    def __init__(self, folder: Path, installed: Path | None = None) -> None:
        self.folder = folder
        self._executable = installed or Path(sys.executable)
        self._with_checkout = installed is None
        self.base = free_base()
        for name in ("data", "var/lib", "share", "config", "pages"):
            (folder / name).mkdir(parents=True)
        usual, real = ClusterPorts.usual(_SERVERS), ClusterPorts.from_base(self.base, _SERVERS)
        usual_kafka, kafka = KafkaPorts.usual(), KafkaPorts.from_base(self.base)
        pairs = zip(usual.named().values(), real.named().values(), strict=True)
        self._ports = dict(pairs) | {usual_kafka.client: kafka.client, 2181: real.zookeeper}
        self._ports[S3_PORT] = self.base + _S3_OFFSET
        self.controller_url = f"http://{HOST}:{real.controller}"
        self.log = folder / "background.log"
        self.done: set[str] = set()
        """The pages that were run completely."""
        self._python: Python | None = None
        self._shells: dict[str, Shell] = {}

    @property
    def python(self) -> Python:
        """The Python of all pages."""
        if self._python is None:
            self._python = Python(self._executable, self.folder, self.environment(), self.log)
        return self._python

    def environment(self) -> dict[str, str]:
        """The environment of a reader who has set up nothing but this cluster."""
        spark = self.folder / "config" / "spark"
        spark.mkdir(exist_ok=True)
        settings = "".join(f"{key} {value}\n" for key, value in LOCAL_SPARK.items())
        (spark / "spark-defaults.conf").write_text(settings)
        hidden = re.compile("PINOT_(?!PLUGINS_)|PYTEST|PYTHONPATH|VIRTUAL_ENV|SPARK_(?!.*_OPTS)|AWS_")
        # For hidden blocks.
        checkout = {"CHECKOUT": str(ROOT), "PYTHONPATH": str(ROOT)} if self._with_checkout else {}
        return {
            **{name: value for name, value in os.environ.items() if not hidden.match(name)},
            **checkout,
            "PATH": f"{self._executable.parent}:{os.environ['PATH']}",
            "XDG_DATA_HOME": str(self.folder / "share"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            # Without it pinotctl uses the usual port on this machine.
            "PINOT_CONTROLLER_URL": self.controller_url,
            "SPARK_CONF_DIR": str(spark),
            "SPARK_LOCAL_IP": HOST,
        }

    def page_folder(self, page: str) -> Path:
        """The working folder of a page."""
        folder = self.folder / "pages" / page
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def shell(self, page: str) -> Shell:
        """The shell of a page; its background processes run until all pages are done."""
        if page not in self._shells:
            self._shells[page] = Shell(self.page_folder(page), self.environment(), self.log)
        return self._shells[page]

    def end_shell(self, page: str) -> None:
        """End the shell of a page; the next call starts a new one."""
        self._shells.pop(page).close()

    def close(self) -> None:
        """End everything."""
        for session in (*self._shells.values(), *([self._python] if self._python else [])):
            session.close()
        if (self.folder / "share" / "pinot-plugins" / "cluster").exists():
            self._cluster("down", "--purge", "--yes")

    def here(self, text: str, page: str) -> str:
        """Put this cluster's ports and folders into a page's text; the reader's home is the page's folder."""
        text = _ANY_HOST.sub(HOST, text)
        for usual, real in self._ports.items():
            text = re.sub(rf"(?<=[:_= ]){usual}\b", str(real), text)
        text = re.sub(r"(?<![\w.])/(data|var/lib)(?=/|\b)", rf"{self.folder}/\1", text)
        # README.md is run in the clone.
        text = re.sub(
            r"(/home/me/pinot-plugins/)?\.work/quickstart", f"{self.folder}/share/pinot-plugins", text
        )
        text = text.replace(_SHARE, str(self.folder / "share")).replace(_HOME, str(self.page_folder(page)))
        up = "pinotctl cluster up"
        text = text.replace(up, f"{up} --port-base {self.base} --timeout {_START_TIMEOUT_S}")
        quickstart = f"{ROOT}/quickstart.sh --port-base {self.base} --dir {self.folder}/share/pinot-plugins"
        return text.replace("./quickstart.sh", quickstart)

    def there(self, text: str, page: str) -> str:
        """Put the pages' ports and folders into what was printed here."""
        text = text.replace(str(self.folder / "share"), _SHARE).replace(str(self.page_folder(page)), _HOME)
        text = re.sub(rf"{re.escape(str(self.folder))}/(data|var/lib)", r"/\1", text)
        for usual, real in self._ports.items():
            if usual != 2181:
                text = re.sub(rf"(?<!\d){real}(?!\d)", str(usual), text)
        return text

    def _cluster(self, *words: str) -> None:
        done = subprocess.run(
            [str(self._executable), *pinotctl("cluster", *words)[1:]],
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def correct(path: Path, blocks: Mapping[int, str]) -> None:
    """Write what was printed into a page.

    Args:
        path: The page.
        blocks: The text of each block that shows something else, by the number of its first line.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for begin in sorted(blocks, reverse=True):
        end = next(number for number in range(begin - 1, len(lines)) if lines[number].startswith("```"))
        lines[begin - 1 : end] = [blocks[begin]]
    path.write_text("".join(lines), encoding="utf-8")
