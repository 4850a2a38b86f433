"""One name, one thing: what holds for names in the whole package (DESIGN: Words)."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from steelyard.report.template_cache import TRANSLATED

SOURCE = Path(__file__).parents[1] / "src" / "steelyard"
WRITTEN = [path for path in SOURCE.rglob("*.py") if TRANSLATED not in str(path)]
TREES = {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in WRITTEN}


def test_a_class_name_is_that_of_one_class():
    places = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_a_variable_says_what_it_holds():
    """`found` says how something came about, and not what it is."""
    places = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == "found" and isinstance(node.ctx, ast.Store)
    ]
    assert not places


VERBS = {"embed", "feed", "need", "proceed", "seed"}
PARTICIPLES = {
    *(
        "begun",
        "brought",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "heard",
        "held",
        "kept",
    ),
    *("known", "lost", "made", "met", "said", "seen", "sent", "shown", "sought", "taken", "told", "written"),
}


def test_no_function_is_named_by_a_participle_alone():
    """`kept` may keep something or be what was kept; `keep_files` and `kept_files` say which."""
    names = {
        f"{path}:{node.lineno}": node.name.strip("_")
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
    }
    assert not {place: name for place, name in names.items() if _is_participle(name)}


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(each) for each in function.decorator_list)


def _is_participle(name: str) -> bool:
    return name in PARTICIPLES or ("_" not in name and name.endswith("ed") and name not in VERBS)
