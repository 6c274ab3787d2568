from pathlib import Path

from tests.unit.controller_client.cli.conftest import Run

DOCS = Path(__file__).parents[4] / "docs" / "cli.md"


def test_docs_cli_md_is_up_to_date(run: Run) -> None:
    result = run("write-reference")
    assert result.exit_code == 0, result.stderr
    assert DOCS.read_text(encoding="utf-8") == result.stdout, (
        "run 'pinotctl write-reference > docs/cli.md' and commit it"
    )
