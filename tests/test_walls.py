"""Who may import whom. The table is the design's river; each line may use those below it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT

RIVER = (
    ("build",),
    ("command_line",),
    ("figures", "tables", "pages", "archive", "voice"),
    ("numbers",),
    ("evidence", "content"),
    ("record", "specs", "exhibit"),
    ("notation", "cache", "folder"),
    ("units", "source", "ladder"),
    ("errors", "marker", "glance"),
    ("inputs",),
)
LEVEL = {room: level for level, line in enumerate(RIVER) for room in line}

ROOMS = {
    "jax": "lab",
    "jaxlib": "lab",
    "numpy": "lab",
    "ml_dtypes": "lab",
    "altair": "report/figures",
    "vl_convert": "report/figures",
    "jinja2": "report/pages",
    "markupsafe": "report/pages",
    "markdown_it": "report/pages",
    "mdit_py_plugins": "report/pages",
    "math_core": "report/pages",
    "pygments": "report/pages",
    "yaml": "report/content",
    "rich": "report/voice.py",
}
"""The one place of each library."""


def modules() -> list[Path]:
    found = [
        PROJECT / "build.py",
        *(PROJECT / "report").rglob("*.py"),
        *(PROJECT / "lab").rglob("*.py"),
    ]
    return sorted(path for path in found if "records" not in path.relative_to(PROJECT).parts[:2])


def imports(module: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: say the whole name"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def room_of(module: Path) -> str:
    parts = module.relative_to(PROJECT).with_suffix("").parts
    return parts[1] if parts[0] == "report" and len(parts) > 1 else parts[0]


def test_each_room_imports_only_rooms_that_lie_nearer_the_ground():
    wrong = []
    for module in modules():
        room = room_of(module)
        for line, name in imports(module):
            top, _, inner = name.partition(".")
            target = inner.partition(".")[0]
            if top != "report" or room not in LEVEL or target == room:
                continue
            if LEVEL[target] <= LEVEL[room]:
                wrong.append(f"{module.relative_to(PROJECT)}:{line} imports {name}")
    assert wrong == []


def test_every_module_of_report_has_a_place_in_the_river():
    rooms = {room_of(module) for module in modules() if module.name != "__init__.py"}

    assert rooms - {"lab"} == set(LEVEL)


def test_each_library_has_one_room():
    wrong = [
        f"{path}:{line} imports {name}"
        for module in modules()
        if (path := module.relative_to(PROJECT).as_posix())
        for line, name in imports(module)
        if (library := name.split(".")[0]) in ROOMS and not path.startswith(ROOMS[library])
    ]
    assert wrong == []


def test_lab_and_report_know_nothing_of_one_another():
    wrong = [
        f"{path}:{line} imports {name}"
        for module in modules()
        if (path := module.relative_to(PROJECT).as_posix()) != "build.py"
        for line, name in imports(module)
        if name.split(".")[0] in {"lab", "report"} - {path.split("/")[0]}
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("load", "absent"),
    [
        (
            "import pkgutil, report; [__import__(m.name) for m in "
            "pkgutil.walk_packages(report.__path__, 'report.')]",
            {"jax", "jaxlib", "numpy", "scipy"},
        ),
        (
            "import build",
            {"jax", "numpy", "altair", "vl_convert", "jinja2", "markdown_it", "yaml", "rich"},
        ),
    ],
    ids=["all of report", "build.py"],
)
def test_importing_loads_nothing_that_is_not_needed_yet(load, absent):
    script = f"import sys\n{load}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )

    assert absent & set(done.stdout.split()) == set()
