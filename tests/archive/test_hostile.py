"""Is a hostile release refused within limits on time and memory, whatever is in it?"""

import contextlib
import io
import json
import random
import resource
import struct
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from report.archive import unzip
from report.archive import verify as verifier
from tests.archive.ground import (
    AUTHOR,
    Files,
    as_json,
    claims_json,
    listing,
    page,
    pin,
    sealed,
    tiny,
    zipped,
    zipped_entries,
)
from tests.conftest import PROJECT

MEMORY = 600 << 20
SECONDS = 20
"""Of a processor: what else the machine does is no part of it."""


def verdict(release: Path) -> dict:
    """What the verifier says with little memory and little time."""

    def bounds() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    alone = [sys.executable, "-I", "-S", verifier.__file__]
    command = alone if release.is_dir() else [sys.executable, PROJECT / "build.py", "verify"]
    done = subprocess.run(
        [*command, release, "--key", pin(AUTHOR), "--json"],
        preexec_fn=bounds,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (10, 12), done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def bomb(name: str, size: int) -> bytes:
    """A zip of a release in which one entry unpacks to `size` zeros."""
    buffer = io.BytesIO(zipped(sealed(tiny())))
    with (
        zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open(zipfile.ZipInfo(name), "w", force_zip64=False) as stream,
    ):
        for _ in range(size >> 20):
            stream.write(bytes(1 << 20))
    return buffer.getvalue()


def listed_bomb(size: int) -> bytes:
    """The same, with the entry on the list, so that it has to be read."""
    files = tiny()
    manifest = listing(files | {"data/zero.bin": b""})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, "MANIFEST.sha256": manifest}.items():
            archive.writestr(name, data)
        with archive.open(zipfile.ZipInfo("data/zero.bin"), "w") as stream:
            for _ in range(size >> 20):
                stream.write(bytes(1 << 20))
    return buffer.getvalue()


def test_a_bomb_that_nobody_listed_is_not_even_unpacked(tmp_path):
    (tmp_path / "x.zip").write_bytes(bomb("tiny-1/zero.bin", 300 << 20))

    told = verdict(tmp_path / "x.zip")

    assert told["faults"] == [{"file": "zero.bin", "what": "added"}]


def test_a_listed_entry_of_a_gigabyte_stops_at_the_limit(tmp_path):
    for size, said in (
        (1 << 29, "data/zero.bin is larger than a release may hold."),
        (1 << 30, "it is a zip that holds more than a release may."),
    ):
        (tmp_path / "x.zip").write_bytes(listed_bomb(size))

        told = verdict(tmp_path / "x.zip")

        assert told["exit"] == 12
        assert said in told["sentence"]


def test_a_file_of_a_gigabyte_on_disk_stops_at_the_limit(tmp_path):
    release = tmp_path / "tiny-1"
    unpack(sealed(tiny()), release)
    manifest = listing(tiny() | {"zero.bin": b""})
    (release / "MANIFEST.sha256").write_bytes(manifest)
    with (release / "zero.bin").open("wb") as sparse:
        sparse.truncate(1 << 30)

    told = verdict(release)

    assert told["exit"] == 12


def test_entries_that_share_their_bytes_are_counted_each_time(tmp_path):
    """Many names for one large member: the total is what is read, not what is stored."""
    data = bytes(200 << 20)
    names = [f"data/{n}.bin" for n in range(20)]
    manifest = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name in sorted(names)).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("MANIFEST.sha256", manifest)
        archive.writestr("data/0.bin", data)
        first = archive.getinfo("data/0.bin")
        for name in names[1:]:
            twin = zipfile.ZipInfo(name)
            twin.compress_type, twin.CRC = first.compress_type, first.CRC
            twin.file_size, twin.compress_size = first.file_size, first.compress_size
            twin.header_offset = first.header_offset
            archive.filelist.append(twin)
    (tmp_path / "x.zip").write_bytes(buffer.getvalue())

    assert verdict(tmp_path / "x.zip")["exit"] in (10, 12)


def test_a_directory_of_a_million_entries_is_refused_unread(tmp_path):
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 60 << 20, 0, 0)
    (tmp_path / "x.zip").write_bytes(bytes(60 << 20) + end)

    told = verdict(tmp_path / "x.zip")

    assert told["exit"] == 12


def test_folders_without_end_take_bounded_time(tmp_path):
    """With folder entries only, and with each of them holding the next."""
    for names in ([f"tiny-1/{n:05}/" for n in range(60_000)], ["a/" * n for n in range(1, 1_500)]):
        entries = [(f"tiny-1/{name}", data) for name, data in sealed(tiny()).items()]
        zipped = zipped_entries([*entries, *((name, b"") for name in names)])
        (tmp_path / "x.zip").write_bytes(zipped)

        assert verdict(tmp_path / "x.zip")["exit"] in (10, 12)


def test_a_folder_that_holds_more_in_all_than_a_release_may_is_refused(tmp_path, monkeypatch):
    unpack(sealed(tiny()), tmp_path / "tiny-1")
    trust = verifier.Trust([pin(AUTHOR)])
    looked_up = sum(len(data) for name, data in tiny().items() if name.endswith(".json"))
    read = sum(map(len, sealed(tiny()).values())) + len(page()) + verifier.PARSED * looked_up
    codes = {}
    for limit in (read, read - 1):
        monkeypatch.setattr(verifier, "MAX_SUM", limit)
        told = verifier.verify(str(tmp_path / "tiny-1"), trust)
        codes[told["exit"]] = told["sentence"]

    assert set(codes) == {0, 12}
    assert codes[12].endswith("is larger than a release may hold.")


def test_a_record_too_large_to_be_looked_up_in_is_refused(tmp_path):
    files = tiny()
    files["records/tiny/report.json"] += b" " * verifier.MAX_JSON
    unpack(sealed(files), tmp_path / "tiny-1")

    told = verdict(tmp_path / "tiny-1")

    assert told["exit"] == 12
    assert "records/tiny/report.json is larger than a release may hold." in told["sentence"]


def test_records_that_take_too_much_in_all_once_they_are_parsed_are_refused(tmp_path):
    parts = [f"records/r{n}/report.json" for n in range(2)]
    claims = tuple((f"v-{n}", f"r{n}#/x", "text", "x") for n in range(2))
    large = b'{"x": "x"%s}' % (b" " * (verifier.MAX_JSON - 10))
    files = tiny() | {"index.html": page(claims), "claims.json": claims_json(claims)}
    unpack(sealed(files | dict.fromkeys(parts, large)), tmp_path / "tiny-1")

    told = verdict(tmp_path / "tiny-1")

    assert told["exit"] == 12
    assert told["sentence"].endswith(f"{parts[1]} is larger than a release may hold.")


def test_a_record_that_is_no_json_is_read_once_for_all_claims(tmp_path, monkeypatch):
    claims = tuple((f"v-{n}", "tiny/environment#/x", "text", "x") for n in range(50))
    files = tiny() | {"index.html": page(claims), "claims.json": claims_json(claims)}
    unpack(sealed(files | {"records/tiny/environment.json": b"[1,"}), tmp_path / "tiny-1")
    parse, parsed = verifier.parse_json, []
    monkeypatch.setattr(verifier, "parse_json", lambda data: parsed.append(data) or parse(data))

    told = verifier.verify(str(tmp_path / "tiny-1"), verifier.Trust([pin(AUTHOR)]))

    assert told["faults"] == [{"file": "index.html", "what": "claim"}]
    assert parsed.count(b"[1,") == 1


def test_too_many_files_are_refused(tmp_path):
    release = tmp_path / "tiny-1"
    unpack(sealed(tiny()), release)
    (release / "many").mkdir()
    for n in range(10_050):
        (release / "many" / str(n)).touch()

    assert verdict(release)["exit"] == 12


@pytest.mark.parametrize(
    "document",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"schema": ' + b"9" * 1_000_000 + b"}",
        b'{"schema": NaN}',
        b'{"schema": 1e999999}',
        b"\xff\xfe",
        b'{"schema": "assay/claims/1", "claims": [1, 2]}',
        b'{"schema": "assay/claims/1", "claims": {"page": 1}}',
        b'{"schema": "assay/claims/1"}',
        b"null",
        b"",
    ],
    ids=range(11),
)
@pytest.mark.parametrize("name", ["claims.json", "release.json"])
def test_json_of_any_shape_is_a_fault_and_never_a_crash(name, document, tmp_path):
    unpack(sealed(tiny() | {name: document}), tmp_path / "tiny-1")

    told = verdict(tmp_path / "tiny-1")

    assert {fault["file"] for fault in told["faults"]} == {"release.json"}


@pytest.mark.parametrize(
    "spelling",
    [
        *("fixed(19)", "fixed(999999999)", "fixed(-1)", "scientific(400)", "text", "integer"),
        *("bytes(GiB)", "quantity(furlong, 1)", "quantity", "seconds(", "", "().()", "percent(a)"),
    ],
)
@pytest.mark.parametrize("value", [1e308, 5e-324, "x", [], {}, {"decimal": "1e999999999"}, None])
def test_any_value_in_any_format_is_a_text_or_a_fault(spelling, value, tmp_path):
    claim = {"page": "index.html", "id": "v-1", "format": spelling, "text": "?"}
    claim["pointer"] = "study#/x"
    entry = value if isinstance(value, dict) else {"number": value}
    files = tiny() | {
        "claims.json": as_json({"schema": "assay/claims/1", "claims": [claim]}),
        "data/study.json": as_json({"values": {"/x": entry}}),
    }
    unpack(sealed(files), tmp_path / "tiny-1")

    told = verifier.verify(str(tmp_path / "tiny-1"), verifier.Trust([pin(AUTHOR)]))

    assert told["exit"] == 10


def test_a_page_made_to_be_slow_is_read_in_linear_time(tmp_path):
    for text in (b"<a " * 2_000_000, b'<a class="v" id="' * 400_000, b"<a x>" * 1_000_000):
        release = tmp_path / f"{len(text)}" / "tiny-1"
        unpack(sealed(tiny() | {"index.html": text}), release)

        assert verdict(release)["faults"] == [{"file": "index.html", "what": "claim"}]


def test_no_mutation_of_a_zip_is_trusted_or_crashes(tmp_path):
    chance, whole = random.Random(12), zipped(sealed(tiny()))
    trust = verifier.Trust([pin(AUTHOR)])
    good = verifier.verify(str(_put(tmp_path, whole)), trust, unzip.find)
    assert good["exit"] == 0
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        told = verifier.verify(str(_put(tmp_path, bytes(data))), trust, unzip.find)
        # A byte of a date or of a mode says nothing of any file, so that may pass; no content may.
        # What else zipfile cannot read, such as a later version's, it unpacks to nothing at all.
        if told["exit"] == 0:
            with (
                contextlib.suppress(NotImplementedError),
                zipfile.ZipFile(io.BytesIO(data)) as archive,
            ):
                for name, content in tiny().items():
                    assert archive.read(f"tiny-1/{name}") == content


def _put(folder: Path, data: bytes) -> Path:
    (folder / "x.zip").write_bytes(data)
    return folder / "x.zip"


def unpack(files: Files, folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
