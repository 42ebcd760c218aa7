"""Does a program give the same bytes every time it runs?

The same question is asked again of a process that may use one core only, since a sum may be
split over threads. One distinct output is expected; another count is a finding, not a failure.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.kit.run_folder import LAB

REPEATS = 20
LIMIT_S = 900.0
"""After this the child is stopped; it needs seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """The distinct outputs of `REPEATS` runs, by SHA-256 of their bytes, in order of appearance."""

    digests: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"repeats": REPEATS, "distinct": len(self.digests), "sha256": list(self.digests)}


def repeat(call: Callable[[], object]) -> Repeats:
    """Run `call`, which returns an array, `REPEATS` times."""
    found = (digest(np.asarray(call())) for _ in range(REPEATS))
    return Repeats(digests=tuple(dict.fromkeys(found)))


def digest(array: NDArray[Any]) -> str:
    """SHA-256 of an array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()


def pin() -> int:
    """Keep this process, and every thread it will start, on one of its cores; return which."""
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def ask_pinned(
    child: str, request: Mapping[str, Any], platform: str
) -> tuple[dict[str, Any] | None, str]:
    """What the module `child` finds on one core, and ""; or None, and why there is nothing."""
    if platform != "cpu":
        return None, f"a {platform} belongs to one process, so no second one can run on it"
    if not hasattr(os, "sched_setaffinity"):
        return None, "this system cannot pin a process to a core"
    places = [str(LAB.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            [sys.executable, "-m", child],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"the pinned process gave no answer within {LIMIT_S:g} s"
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["without a word"]
        return None, f"the pinned process ended with code {done.returncode}: {last[0][:300]}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found, ""
