"""Uploads segments as commits do, with Pinot's own uploader; runs as a child process with commands.

Arguments: a folder and the store's scheme. ``held`` is the scheme of a store that hangs on request.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import jpype

from controller_client.clock import SystemClock
from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.jvm import logging_options, start_jvm_with
from server_hooks.commit_upload.backlog import Backlog, BacklogEntry, BacklogLimits
from server_hooks.commit_upload.extension_point import install_extension
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.metrics import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.pinot_store import PinotStore
from server_hooks.commit_upload.upload_state import UploadState
from server_hooks.commit_upload.uploads import CommitUploads
from tests.support.java_options import QUICK_START

WAIT_S = 0.5
_LATE_S = 300.0

_UPLOADER = "org.apache.pinot.core.data.manager.realtime.PinotFSSegmentUploader"
_HELD = """package tests;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CountDownLatch;
import org.apache.pinot.spi.filesystem.LocalPinotFS;

public final class HeldFileSystem extends LocalPinotFS {
    public static volatile CountDownLatch open = new CountDownLatch(0);

    private static void await() {
        try {
            open.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public boolean exists(URI uri) {
        await();
        return super.exists(uri);
    }

    @Override
    public void copyFromLocalFile(File file, URI target) throws Exception {
        await();
        super.copyFromLocalFile(file, target);
    }
}
"""


def main() -> None:
    """``hold``, ``release``, ``upload`` a tar as a segment, return ``late`` uploads, ``count`` outcomes.

    A commit waits for a short time while the store is held.
    """
    folder, scheme = Path(sys.argv[1]), sys.argv[2]
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    start_jvm_with(["-Xmx256m", *QUICK_START.split(), *logging_options()])
    store_uri = f"{scheme}://{folder}/store"
    kept, counts = KeptTars(folder / "kept", store_uri), OutcomeCounts()
    backlog = Backlog(SystemClock(), BacklogLimits(), kept.free_bytes)
    patient, impatient = (
        CommitUploads(PinotStore(), kept, backlog, counts, wait_s=wait_s) for wait_s in (_LATE_S, WAIT_S)
    )
    uploads = patient
    configuration = _configuration(folder, scheme)
    install_extension(configuration, store_uri, lambda *words: uploads.upload(*words))
    factory = jpype.JClass("org.apache.pinot.spi.filesystem.PinotFSFactory")
    factory.init(configuration.subset("pinot.server.storage.factory"))
    _say({})
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        match order["do"]:
            case "hold":
                latch = jpype.JClass("java.util.concurrent.CountDownLatch")(1)
                jpype.JClass("tests.HeldFileSystem").open = latch
                uploads = impatient
                _say({})
            case "release":
                jpype.JClass("tests.HeldFileSystem").open.countDown()
                uploads = patient
                _say({})
            case "upload":
                _say(_upload(store_uri, order))
            case "late":
                entry = _uploaded(backlog)
                home = f"{store_uri}/{entry.tar.raw_table}/{entry.tar.segment}"
                _say({"uri": entry.uri, "home": home, "moved": PinotStore().move(entry.uri, home)})
            case "count":
                _say({outcome: counts.get(outcome) for outcome in UploadOutcome})


def _uploaded(backlog: Backlog) -> BacklogEntry:
    """The first late upload, once it has ended."""
    end_s = time.monotonic() + _LATE_S
    while not (found := backlog.due(UploadState.UPLOADED)):
        if time.monotonic() > end_s:
            raise TimeoutError("no upload ends late")
        time.sleep(0.05)
    return found[0]


def _configuration(folder: Path, scheme: str) -> Any:
    found = jpype.JClass("org.apache.pinot.spi.env.PinotConfiguration")()
    if scheme == "held":
        source = folder / "HeldFileSystem.java"
        source.write_text(_HELD)
        load_java(JavaSources("tests", (source,)))
        found.setProperty("pinot.server.storage.factory.class.held", "tests.HeldFileSystem")
    return found


def _upload(store_uri: str, order: dict[str, Any]) -> dict[str, Any]:
    """Upload as a commit does, which creates its own uploader."""
    # Later versions have its metrics as an argument.
    words = [store_uri, order["timeout_ms"]]
    if len(jpype.JClass(_UPLOADER).class_.getConstructors()[0].getParameterTypes()) > 2:
        metrics = jpype.JClass("org.apache.pinot.common.metrics.ServerMetrics")
        registry = jpype.JClass("org.apache.pinot.spi.metrics.PinotMetricUtils").getPinotMetricsRegistry()
        words.append(metrics(registry))
    name = jpype.JClass("org.apache.pinot.common.utils.LLCSegmentName")(order["segment"])
    started = time.monotonic()
    uri = jpype.JClass(_UPLOADER)(*words).uploadSegment(jpype.JClass("java.io.File")(order["tar"]), name)
    return {"uri": None if uri is None else str(uri), "seconds": time.monotonic() - started}


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
