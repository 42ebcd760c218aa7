"""How a program of the user's own is named and described: `module:function`.

The function is any that `jax.jit` takes. Beside it in its module stand its abstract arguments:

    def step(weights, tokens): ...

    def step_arguments(batch=8, mesh=None):
        return (jax.ShapeDtypeStruct((1024, 1024), "bfloat16"), ...)

    step_mesh = {"data": 4, "model": 4}     # only for a program over several devices
    step_options = {"donate_argnums": (0,)} # only if jax.jit needs any

`step_arguments` returns a tuple of trees of `jax.ShapeDtypeStruct`. It may take `batch`, so
that the largest batch can be searched for, and `mesh`, so that it can give shardings over it.
An argument without a sharding is replicated. Nothing is ever run.
"""

import hashlib
import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.kit.faults import UsageFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A function and the arguments it is compiled for."""

    function: Callable[..., Any]
    arguments: Callable[..., Sequence[Any]]
    mesh: Mapping[str, int] | None
    options: Mapping[str, Any]
    source_sha256: str | None
    """Of the file the function's module was read from."""

    @property
    def takes_batch(self) -> bool:
        return "batch" in inspect.signature(self.arguments).parameters

    def lower(self, devices: Sequence[Any], batch: int | None) -> Any:
        """The program lowered for `devices`: for the first of them, or for all in its mesh."""
        import jax
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

        given: dict[str, Any] = {}
        replicated: Any = SingleDeviceSharding(devices[0])
        if self.mesh is not None:
            needed = math.prod(self.mesh.values())
            if needed != len(devices):
                raise UsageFault(
                    f"the program's mesh {dict(self.mesh)} needs {needed} devices; "
                    f"this target has {len(devices)}"
                )
            grid = np.array(devices).reshape(tuple(self.mesh.values()))
            mesh = Mesh(grid, tuple(self.mesh))
            replicated = NamedSharding(mesh, PartitionSpec())  # type: ignore[no-untyped-call]
            if "mesh" in inspect.signature(self.arguments).parameters:
                given["mesh"] = mesh
        if batch is not None:
            if not self.takes_batch:
                raise UsageFault("the program's arguments take no batch")
            given["batch"] = batch

        found = self.arguments(**given)
        if not isinstance(found, tuple | list):
            raise UsageFault(
                "the function beside the program has to return a tuple of its arguments, and not "
                f"a {type(found).__name__}; write (x,) for a single one"
            )

        def placed(each: Any) -> Any:
            if not (hasattr(each, "shape") and hasattr(each, "dtype")):
                raise UsageFault(
                    f"the program's arguments hold an {type(each).__name__} where there has to "
                    "be a shape and a type, as jax.ShapeDtypeStruct gives them"
                )
            sharding = getattr(each, "sharding", None) or replicated
            abstract: Any = jax.ShapeDtypeStruct
            return abstract(each.shape, each.dtype, sharding=sharding)

        arguments = jax.tree.map(placed, tuple(found))
        function: Any = self.function
        if not hasattr(function, "lower"):
            function = jax.jit(function, **self.options)
        return function.lower(*arguments)


def load(reference: str) -> Program:
    """Import `module:function` and what stands beside it, or say what is missing."""
    module_name, colon, name = reference.partition(":")
    words = [*module_name.split("."), name]
    if not colon or not all(word.isidentifier() for word in words):
        raise UsageFault(f"{reference!r} is not of the form module:function")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as problem:
        raise UsageFault(str(problem)) from problem
    missing = [each for each in (name, f"{name}_arguments") if not hasattr(module, each)]
    if missing:
        raise UsageFault(f"{module_name} has no {' and no '.join(missing)}")
    source = getattr(module, "__file__", None)
    return Program(
        function=getattr(module, name),
        arguments=getattr(module, f"{name}_arguments"),
        mesh=getattr(module, f"{name}_mesh", None),
        options=getattr(module, f"{name}_options", {}),
        source_sha256=hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else None,
    )
