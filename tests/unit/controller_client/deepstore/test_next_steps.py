"""Each fault has a next step, with commands that exist."""

from __future__ import annotations

import shlex

import click
import pytest

from controller_client.common.console import Console
from controller_client.common.names import TableName
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.judge import Fault, Finding, Judgement
from controller_client.deepstore.next_steps import next_steps
from controller_client.deepstore.report import AuditReport
from pinotctl.root import cli
from tests.unit.controller_client.deepstore.samples import TABLE, record


def judgement(*faults: Fault) -> Judgement:
    findings = tuple(Finding(fault, "why") for fault in faults)
    return Judgement(record(), (), findings, stored_well=False, copies=1)


def audit(*faults: Fault, table: str = TABLE) -> TableAudit:
    return TableAudit(TableName(table), 3, 0, (judgement(*faults),) if faults else (), ())


SILENT = TableAudit(TABLE, 3, 0, (), (("Server_a_8098", "down"),))
FAULTY_REPORT = AuditReport("s3://b/x", 2, 0, 1.5, (audit(*Fault), SILENT))


def test_without_findings_there_is_nothing_to_do() -> None:
    assert next_steps([audit()]) == []
    page = AuditReport("s3://b/x", 2, 0, 1.5, (audit(),)).page()
    assert "Nothing: every segment has its copies." in page
    assert "<code>pinotctl deepstore watch</code>" in page


def test_a_table_that_was_not_inspected_is_named_with_the_reason() -> None:
    failed = AuditReport("s3://b/x", 2, 0, 1.5, (), (TableFailure(TableName("t_OFFLINE"), "no <config>"),))
    page = failed.page()
    assert "t_OFFLINE</td>" in page
    assert "no &lt;config&gt;</td>" in page
    assert "<code>pinotctl deepstore audit</code>" in page


def test_tables_and_segments_are_links_where_the_controller_is_known() -> None:
    page = FAULTY_REPORT.page(Console("http://me:secret@host:9000/"))
    assert f'<a href="http://host:9000/#/tenants/table/{TABLE}/s">s</a>' in page
    assert "secret" not in page
    assert "<a " not in FAULTY_REPORT.page()


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_has_a_step_and_another_audit_at_the_end(fault: Fault) -> None:
    first, *_, last = next_steps([audit(fault)])
    assert first != last
    assert last.commands == ("pinotctl deepstore audit",)


def test_a_repair_is_preceded_by_a_dry_run() -> None:
    step = next_steps([audit(Fault.NO_URL), audit(Fault.OBJECT_GONE, table="u_OFFLINE")])[0]
    assert step.commands == (
        f"pinotctl deepstore repair {TABLE} u_OFFLINE --dry-run",
        f"pinotctl deepstore repair {TABLE} u_OFFLINE",
    )


def test_with_many_tables_all_tables_are_repaired() -> None:
    step = next_steps([audit(Fault.NO_URL, table=f"t{number}_OFFLINE") for number in range(50)])[0]
    assert step.commands[-1] == "pinotctl deepstore repair"


def test_table_names_are_quoted_for_the_shell() -> None:
    step = next_steps([audit(Fault.NO_URL, table="a; rm -rf ~_OFFLINE")])[0]
    assert shlex.split(step.commands[-1]) == ["pinotctl", "deepstore", "repair", "a; rm -rf ~_OFFLINE"]


def test_the_commands_exist_in_pinotctl() -> None:
    for command in (line for step in next_steps(FAULTY_REPORT.tables) for line in step.commands):
        program, *words = shlex.split(command)
        if program == "pinotctl":
            below: click.Command | None = cli
            context = click.Context(cli)
            while isinstance(below, click.Group):
                below = below.get_command(context, words.pop(0))
            assert below is not None
            options = {option for parameter in below.params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options


def test_the_page_has_the_steps() -> None:
    page = FAULTY_REPORT.page()
    assert "What to do next" in page
    assert f"<pre><code>pinotctl deepstore repair {TABLE} --read-tars --dry-run</code>" in page
    assert "Server_a_8098" in page
