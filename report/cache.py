"""Work that is kept: bytes under a key that names everything they depend on.

Each entry carries a digest of its key and its bytes, and is passed over when they no longer match:
a damaged entry, or one put in another's place, costs time and nothing else. Deleting the cache is
always safe. Whoever may write here may also write what bears its digest, just as they may edit the
code; so what is going to be signed is made without it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

_DIGEST = 32
"""Bytes of the SHA-256 that precedes each entry, of its key and of what is kept."""


class Store(Protocol):
    """Keeps bytes by key, or keeps nothing."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, kept: bytes) -> None: ...


def once(store: Store, key: str, make: Callable[[], bytes]) -> bytes:
    """What `make` makes, from the store if it was made before; `key` names all it depends on."""
    if (found := store.get(key)) is not None:
        return found
    made = make()
    store.put(key, made)
    return made


class Cache:
    """A folder of entries, made when the first is kept. Several builds may use it at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        """What was kept under `key`, or `None` when nothing whole is there."""
        try:
            content = self._place(key).read_bytes()
        except OSError:
            return None
        kept = content[_DIGEST:]
        return kept if _digest_of(key, kept) == content[:_DIGEST] else None

    def put(self, key: str, kept: bytes) -> None:
        """Keep `kept` under `key`. A full or read-only disk costs time later, not this build."""
        place = self._place(key)
        part = place.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(_digest_of(key, kept) + kept)
            part.replace(place)

    def _place(self, key: str) -> Path:
        name = sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / name[2:]


def _digest_of(key: str, kept: bytes) -> bytes:
    """SHA-256 that binds an entry to its key."""
    return sha256(sha256(key.encode()).digest() + kept).digest()


class ReadOnlyCache(Cache):
    """What builds kept, for a check, which writes nothing."""

    def put(self, key: str, kept: bytes) -> None:
        del key, kept


class NullCache:
    """Keeps nothing and has nothing: for a release, which trusts nothing that was kept."""

    def get(self, key: str) -> bytes | None:
        del key
        return None

    def put(self, key: str, kept: bytes) -> None:
        del key, kept
