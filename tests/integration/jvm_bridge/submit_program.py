"""Submits Helix jobs; run as a child process: a JSON list of jobs on stdin, their names on stdout."""

from __future__ import annotations

import json
import sys

from jvm_bridge.helix import HelixTaskQueue


def main() -> None:
    zookeeper_address, cluster_name, tag = sys.argv[1:]
    names = []
    with HelixTaskQueue(zookeeper_address, cluster_name) as queue:
        for job in json.load(sys.stdin):
            if "delete" in job:
                queue.delete(job["delete"])
                names.append(job["delete"])
                continue
            names.append(
                queue.submit(
                    job["type"],
                    job["configs"],
                    minion_tag=tag,
                    timeout_s=job.get("timeout_s", 60.0),
                    concurrent_per_instance=job.get("concurrent", 1),
                )
            )
    print(json.dumps(names))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
