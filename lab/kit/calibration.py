"""Scales that are set before their inputs are seen, and what makes an evaluation of them fair."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from lab.kit.policy_file import CannotFollow


def row_hashes(x: NDArray[np.float32]) -> list[str]:
    """The SHA-256 of each row's little-endian bytes."""
    return [hashlib.sha256(row.astype("<f4").tobytes()).hexdigest() for row in x]


def split_sha256(x: NDArray[np.float32]) -> str:
    """One digest for a set of rows, in whatever order: over their sorted hashes, a line each."""
    return hashlib.sha256("\n".join(sorted(row_hashes(x))).encode()).hexdigest()


def require_split(x: NDArray[np.float32], sha256: str) -> None:
    """Refuse to calibrate on other rows than a policy names."""
    if (found := split_sha256(x)) != sha256:
        raise CannotFollow(
            f"the policy is calibrated on the rows with SHA-256 {sha256:.12}, "
            f"and this run's have {found:.12}"
        )


def require_apart(calibrated: NDArray[np.float32], evaluated: NDArray[np.float32]) -> None:
    """Refuse to evaluate on a row that was calibrated on."""
    known = set(row_hashes(calibrated))
    shared = sum(each in known for each in row_hashes(evaluated))
    if shared:
        raise CannotFollow(
            f"{shared} of {len(evaluated)} rows to evaluate on are rows that the scales were "
            "calibrated on, so their error would flatter the policy"
        )
