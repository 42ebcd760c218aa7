"""Runs each program of the precision lab many times on one CPU core, and tells outputs apart.

`lab.replay` starts this as a process of its own: the problem comes on standard input and the
answer goes to standard output, both as JSON. The pin comes before JAX starts its threads.
"""

import json
import sys

from lab.kit import backend, repeats
from lab.kit.precision_product import (
    CASES,
    POLICIES,
    Problem,
    compile_product,
    make_inputs,
    prepare,
)


def main() -> int:
    """Answer {"core": …, "programs": {id: what `REPEATS` runs gave}}."""
    problem = Problem(**json.load(sys.stdin))
    core = repeats.pin()
    device = backend.start("cpu")
    inputs = make_inputs(problem)
    programs = {}
    for case in CASES:
        for policy in POLICIES:
            name = f"{case}-{policy}"
            program = compile_product(name, prepare(inputs[case], policy), device)
            programs[name] = repeats.repeat(program.run).as_json()
    json.dump({"core": core, "programs": programs}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
