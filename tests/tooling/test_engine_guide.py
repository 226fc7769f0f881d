"""The guide to the engine says what is true: its code runs, from the first line to the last."""

import ast
import re
from inspect import iscoroutine
from pathlib import Path
from types import FunctionType
from typing import Any

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


async def test_the_guide_to_the_engine_runs() -> None:
    """All blocks in one go, as a reader would paste them."""
    blocks = BLOCK.findall((ROOT / "docs/engine.md").read_text("utf-8"))
    assert len(blocks) > 3
    names: dict[str, Any] = {}
    for block in blocks:
        code = compile(block, "docs/engine.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if iscoroutine(running := FunctionType(code, names)()):
            await running
