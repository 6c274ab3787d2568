"""Blocks of commands: which lines are commands, and which are output."""

from __future__ import annotations

import html
import re

from scripts.docs_site.console import fence

BLOCK = """\
$ pinotctl query "select a
    from b" | head
a <b>
$ pinotctl task run flights \\
    --set x=1   # it's a comment
done & over
$ printf 'never closed
"""


def test_prompts_and_output_can_be_left_out_of_what_is_copied() -> None:
    shown = fence(BLOCK, "console", "console", {}, None)
    without = re.sub(r'<span class="g[po]">[^<]*</span>', "", shown)
    assert html.unescape(re.sub(r"<[^>]+>", "", without)) == (
        'pinotctl query "select a\n    from b" | head\n'
        "pinotctl task run flights \\\n    --set x=1   # it's a comment\n"
        "printf 'never closed\n"
    )


def test_nothing_is_lost_of_what_is_shown() -> None:
    shown = fence(BLOCK, "console", "console", {}, None)
    assert html.unescape(re.sub(r"<[^>]+>", "", shown)) == BLOCK
