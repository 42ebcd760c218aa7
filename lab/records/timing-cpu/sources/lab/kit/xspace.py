"""Where the text stands in a serialized XSpace, the profiler's protocol buffer.

Only the wire format is read, so that text can be overwritten in place. Reading a
trace for its meaning is left to `jax.profiler.ProfileData`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

TEXT: Final = "text"
BYTES: Final = "bytes"

Fields = Mapping[int, object]

# Field numbers of xplane.proto in openxla/xprof: text, bytes (such as a stat that holds a
# whole compiled program), and the messages on the way to them.
_STAT: Fields = {5: TEXT, 6: BYTES}
_EVENT: Fields = {4: _STAT}
_LINE: Fields = {2: TEXT, 4: _EVENT, 11: TEXT}
_EVENT_METADATA: Fields = {2: TEXT, 3: BYTES, 4: TEXT, 5: _STAT}
_STAT_METADATA: Fields = {2: TEXT, 3: TEXT}
_PLANE: Fields = {
    2: TEXT,
    3: _LINE,
    4: {2: _EVENT_METADATA},
    5: {2: _STAT_METADATA},
    6: _STAT,
}
_SPACE: Fields = {1: _PLANE, 2: TEXT, 3: TEXT, 4: TEXT}


def rewrite(data: bytes, new_content: Callable[[bytes, bool], bytes]) -> bytes:
    """`data` with the content of each text or bytes field replaced, at the same length.

    `new_content` is told whether the field is text.
    """
    result = bytearray(data)
    for start, stop, is_text in _spans(data, 0, len(data), _SPACE):
        content = new_content(data[start:stop], is_text)
        if len(content) != stop - start:
            raise ValueError("a field may not change its length")
        result[start:stop] = content
    return bytes(result)


def _spans(data: bytes, start: int, stop: int, fields: Fields) -> Iterator[tuple[int, int, bool]]:
    """(start, stop, is text) of each text or bytes field of the message in data[start:stop]."""
    at = start
    while at < stop:
        tag, at = _varint(data, at)
        wire_type = tag & 7
        if wire_type == 0:
            _, at = _varint(data, at)
        elif wire_type == 1:
            at += 8
        elif wire_type == 5:
            at += 4
        elif wire_type == 2:
            length, at = _varint(data, at)
            inner = fields.get(tag >> 3)
            if inner in (TEXT, BYTES):
                yield at, at + length, inner == TEXT
            elif isinstance(inner, Mapping):
                yield from _spans(data, at, at + length, inner)
            at += length
        else:
            raise ValueError(f"not an XSpace: wire type {wire_type} at byte {at}")
    if at != stop:
        raise ValueError(f"not an XSpace: a field runs past byte {stop}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The base-128 number at `at`, and the position after it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"not an XSpace: no number at byte {at}")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at
