"""The attention of one decode step over its KV cache, as a program to compile and never to run.

The lesson's worked example: 24 layers, 8 KV heads of 64, 4,096 tokens, BF16, so that a
sequence's cache is 192 MiB by the formula. It shows the protocol of `lab.kit.program`.
"""

from typing import Any

LAYERS, KV_HEADS, GROUP, HEAD_DIM, TOKENS = 24, 8, 2, 64, 4_096
BATCH = 8


def step(keys: Any, values: Any, queries: Any) -> Any:
    """One new token of every sequence attends to all tokens of its cache, layer by layer.

    keys, values: layers x batch x tokens x KV heads x head dimension; queries: layers x batch
    x KV heads x query heads in a group x head dimension.
    """
    import jax
    import jax.numpy as jnp

    def layer(carried: None, cache: Any) -> Any:
        k, v, q = cache
        scores = jnp.einsum("bhgd,bthd->bhgt", q, k, preferred_element_type="float32")
        weights = jax.nn.softmax(scores * HEAD_DIM**-0.5).astype(q.dtype)
        return carried, jnp.einsum("bhgt,bthd->bhgd", weights, v)

    return jax.lax.scan(layer, None, (keys, values, queries))[1]


def step_arguments(batch: int = BATCH) -> tuple[Any, ...]:
    """Abstract arguments on one device."""
    import jax

    abstract: Any = jax.ShapeDtypeStruct
    cache = abstract((LAYERS, batch, TOKENS, KV_HEADS, HEAD_DIM), "bfloat16")
    queries = abstract((LAYERS, batch, KV_HEADS, GROUP, HEAD_DIM), "bfloat16")
    return cache, cache, queries


sharded_step = step
sharded_step_mesh = {"data": 4, "model": 4}


def sharded_step_arguments(mesh: Any, batch: int = BATCH) -> tuple[Any, ...]:
    """The same over a 4 x 4 slice: sequences over one axis, KV heads over the other."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    abstract: Any = jax.ShapeDtypeStruct
    over: Any = PartitionSpec
    cache, queries = over(None, "data", None, "model"), over(None, "data", "model")
    return tuple(
        abstract(each.shape, each.dtype, sharding=NamedSharding(mesh, spec))
        for each, spec in zip(step_arguments(batch), (cache, cache, queries), strict=True)
    )
