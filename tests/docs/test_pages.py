"""Every example in README.md and docs/ is run as written; all pages share one local cluster.

``./test.sh tests/docs --correct-pages`` writes the actual output into the pages.
"""

from __future__ import annotations

import pytest

from tests.docs.place import ROOT, Place, correct
from tests.docs.runner import PageRun

pytestmark = [pytest.mark.cluster, pytest.mark.jvm, pytest.mark.kafka]

README, FIRST = "README.md", "docs/first-table.md"
CONSUMPTION, SERVERS = "docs/consumption.md", "docs/servers.md"

# In this order; each page with the pages whose cluster, tables or servers it uses.
PAGES: dict[str, tuple[str, ...]] = {
    FIRST: (),
    "docs/as-code.md": (FIRST,),
    CONSUMPTION: (FIRST,),
    "docs/operations.md": (FIRST,),
    "docs/segments.md": (FIRST,),
    "docs/queries.md": (FIRST,),
    "docs/file-ingestion.md": (FIRST,),
    "docs/checks.md": (FIRST,),
    "docs/rollback.md": (FIRST,),
    "docs/lakehouse.md": (FIRST,),
    "docs/spark.md": (FIRST,),
    "docs/pipeline-on-spark.md": (FIRST,),
    README: (FIRST,),
    "docs/install.md": (FIRST, README),
    "docs/deep-store.md": (FIRST,),
    "docs/local-cluster.md": (FIRST,),
    SERVERS: (FIRST,),
    "docs/partition-pause.md": (FIRST, CONSUMPTION, SERVERS),
    "docs/upsert.md": (FIRST, SERVERS),
    "docs/upsert-queries.md": (FIRST, SERVERS, "docs/upsert.md"),
    "docs/upsert-coordinator.md": (FIRST, SERVERS, "docs/upsert.md"),
    "docs/upsert-servers.md": (),
    "docs/airflow.md": (),  # tests/airflow runs its DAG
    "docs/benchmarks.md": (),
    "docs/faults.md": (),
    "docs/monitoring.md": (),
    "docs/test-runs.md": (),
    "docs/upgrades.md": (),
    "docs/kubernetes.md": (FIRST,),
    "docs/licences.md": (),
    "docs/security.md": (),
    "docs/versions.md": (),
    "docs/architecture.md": (),
    "docs/designs.md": (),
    "docs/index.md": (),
    "docs/glossary.md": (),
    "docs/operators.md": (),
}
WRITTEN_BY_THE_COMMANDS = "docs/cli.md"
RUN_AS_A_TUTORIAL = "docs/notebook.md"  # by tests/docs/tutorials


def test_every_page_is_in_the_list() -> None:
    found = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}
    assert found | {README} == PAGES.keys() | {WRITTEN_BY_THE_COMMANDS, RUN_AS_A_TUTORIAL}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_as_documented(place: Place, page: str, full: bool, pytestconfig: pytest.Config) -> None:
    for needed in PAGES[page]:
        if needed not in place.done:
            PageRun(place, needed, full).run()
    run = PageRun(place, page, full)
    run.run()
    if pytestconfig.getoption("--correct-pages"):
        correct(ROOT / page, run.corrected)
    assert not run.differences, "\n\n".join(run.differences)
