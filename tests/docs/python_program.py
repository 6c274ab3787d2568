"""Runs Python blocks, those of a page in one namespace, like a reader's own session.

Reads one line of JSON per block, and answers with one line: the output, and the traceback if it failed.
A page is identified by its folder. All pages share the process, and therefore one Spark session.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Serve until stdin ends."""
    # Output of a JVM or a library to the standard streams goes to the log, not between the answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        folder, namespace = "", dict[str, Any]()
        for line in sys.stdin:
            order = json.loads(line)
            if order["folder"] != folder:
                folder, namespace = order["folder"], {"__name__": "__main__"}
                os.chdir(folder)
            printed, failure = io.StringIO(), None
            try:
                code = compile(order["code"], order["name"], "exec")
                with contextlib.redirect_stdout(printed):
                    exec(code, namespace)  # noqa: S102  # that is what this program is for
            except Exception:  # noqa: BLE001  # it is the answer
                failure = traceback.format_exc()
            answers.write(json.dumps({"printed": printed.getvalue(), "failure": failure}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
