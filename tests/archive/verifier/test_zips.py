"""Is a hostile zip refused by the page, in bounded time and in plain words?"""

import random
import re
import struct
import warnings
import zipfile
from pathlib import Path

import pytest

from report.archive import unzip
from report.archive.verify import Unchecked


def hostile(place: Path, entries: list[tuple[str, bytes]], method: int = 0) -> Path:
    with zipfile.ZipFile(place, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice is meant
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return place


def in_release(sealed: Path) -> list[tuple[str, bytes]]:
    return [
        (f"tiny-1/{path.relative_to(sealed)}", path.read_bytes())
        for path in sorted(sealed.rglob("*"))
        if path.is_file()
    ]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tiny-1/../../outside", ("../../outside", "name")),
        ("/etc/passwd", ("..//etc/passwd", "name")),
        ("tiny-1/a\\b", ("a\\u{5c}b", "name")),
        ("tiny-1/bell\x07", ("bell\\u{7}", "name")),
        ("tiny-1/\u202egpj.exe", ("\\u{202e}gpj.exe", "added")),
        ("tiny-1/INDEX.html", ("INDEX.html", "added")),
        ("tiny-1/index.html", ("index.html", "twin")),
        ("tiny-1/empty/", ("empty/", "empty")),
        ("elsewhere/x", ("../elsewhere/x", "name")),
        ("tiny-1/<img src=x onerror=alert(1)>", ("<img src=x onerror=alert(1)>", "added")),
    ],
)
def test_names_that_mislead_are_named_and_shown_as_text(reader, sealed, tmp_path, name, fault):
    place = hostile(tmp_path / "bad.zip", [*in_release(sealed), (name, b"")])

    verdict = reader.verdict(place)

    assert verdict["faults"] == [{"file": fault[0], "what": fault[1]}]
    assert reader.page.locator("#verdict img").count() == 0


def test_a_link_in_a_zip_is_named(reader, sealed, tmp_path):
    place = hostile(tmp_path / "bad.zip", in_release(sealed))
    with zipfile.ZipFile(place, "a") as archive:
        link = zipfile.ZipInfo("tiny-1/link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")

    verdict = reader.verdict(place)

    assert verdict["faults"] == [{"file": "link", "what": "symlink"}]


def test_a_zip_bomb_stops_where_it_lies(reader, sealed, tmp_path):
    entries = [(n, d) for n, d in in_release(sealed) if not n.endswith("index.html")]
    bomb = [*entries, ("tiny-1/index.html", bytes(300 << 20))]
    honest = hostile(tmp_path / "bomb.zip", bomb, zipfile.ZIP_DEFLATED)
    lying = bytearray(honest.read_bytes())
    for size in (m.start() for m in re.finditer(re.escape(struct.pack("<I", 300 << 20)), lying)):
        lying[size : size + 4] = struct.pack("<I", 40)
    (tmp_path / "lying.zip").write_bytes(lying)

    told = reader.verdict(honest)
    denied = reader.verdict(tmp_path / "lying.zip")

    assert told["sentence"].startswith("Could not check: tiny-1/index.html is larger than")
    assert denied["faults"] == [{"file": "index.html", "what": "changed"}]


def test_a_zip_of_folders_without_end_takes_bounded_time(reader, sealed, tmp_path):
    folders = [(f"tiny-1/{n:05}/", b"") for n in range(30_000)]
    place = hostile(tmp_path / "many.zip", [*in_release(sealed), *folders])

    verdict = reader.verdict(place)

    assert verdict["exit"] in (10, 12)


BROKEN_ZIPS = {
    "not a zip": lambda _: b"GIF89a" * 50,
    "nothing": lambda _: b"",
    "cut off": lambda data: data[:-30],
    "something before it": lambda data: b"#!/bin/sh\n" + data,
    "something after it": lambda data: data + b"more",
    "too many entries": lambda data: data[:-12] + struct.pack("<H", 60_000) + data[-10:],
    "64 bits": lambda data: data[:-6] + struct.pack("<I", 0xFFFFFFFF) + data[-2:],
    "another disk": lambda data: data[:-18] + struct.pack("<H", 1) + data[-16:],
}


@pytest.mark.parametrize("way", BROKEN_ZIPS)
def test_a_zip_that_cannot_be_read_could_not_be_checked(reader, sealed, tmp_path, way):
    whole = hostile(tmp_path / "whole.zip", in_release(sealed)).read_bytes()
    (tmp_path / "bad.zip").write_bytes(BROKEN_ZIPS[way](whole))

    verdict = reader.verdict(tmp_path / "bad.zip")

    assert verdict["exit"] == 12
    assert verdict["sentence"].startswith("Could not check: it is neither a folder nor a zip")


def test_no_flipped_byte_of_a_zip_makes_another_release_of_it(reader, sealed, tmp_path):
    whole = hostile(tmp_path / "whole.zip", in_release(sealed), zipfile.ZIP_DEFLATED).read_bytes()
    dice = random.Random(17)
    for _ in range(40):
        data = bytearray(whole)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        (tmp_path / "bad.zip").write_bytes(data)

        verdict = reader.verdict(tmp_path / "bad.zip")

        # Dates, versions and the like stand in a zip unprotected, and change no file.
        if verdict["exit"] == 0:
            with zipfile.ZipFile(tmp_path / "bad.zip") as archive:
                assert {n: archive.read(n) for n in archive.namelist()} == dict(in_release(sealed))


def test_a_zip_with_flags_that_no_release_has_is_not_read(reader, sealed, tmp_path):
    whole = hostile(tmp_path / "whole.zip", in_release(sealed), zipfile.ZIP_DEFLATED).read_bytes()
    entry = whole.index(b"PK\x01\x02")
    data = bytearray(whole)
    data[entry + 8] |= 0x20  # compressed patched data
    (tmp_path / "bad.zip").write_bytes(data)

    assert reader.verdict(tmp_path / "bad.zip")["exit"] == 12
    with pytest.raises(Unchecked, match="a way that a release never is"):
        list(unzip.find(str(tmp_path / "bad.zip")))
