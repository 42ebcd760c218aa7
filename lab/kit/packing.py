"""INT4 codes, two to a byte: how four-bit codes are stored and brought back."""

import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import CheckFailed

LOWEST, HIGHEST = -8, 7


def pack(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Four-bit codes in reading order, the earlier of two in the low half of its byte.

    Of an odd number the last byte holds one code, and zero above it.
    """
    flat = codes.astype(np.int8).ravel()
    if flat.size and (flat.min() < LOWEST or flat.max() > HIGHEST):
        raise CheckFailed(f"codes {flat.min()} to {flat.max()} do not fit into four bits")
    halves = np.zeros(2 * ((flat.size + 1) // 2), dtype=np.uint8)
    halves[: flat.size] = flat.view(np.uint8) & 0xF
    return halves[0::2] | (halves[1::2] << 4)


def unpack(packed: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.int8]:
    """The codes that were packed, as int8 in `shape`."""
    count = int(np.prod(shape, dtype=np.int64))
    if packed.size != (count + 1) // 2:
        raise CheckFailed(f"{packed.size} bytes hold no {count} codes of four bits")
    halves = np.empty(2 * packed.size, dtype=np.uint8)
    halves[0::2], halves[1::2] = packed & 0xF, packed >> 4
    # The sign bit of a half is worth -8.
    signed = (halves ^ 8).astype(np.int8) - np.int8(8)
    return signed[:count].reshape(shape)
