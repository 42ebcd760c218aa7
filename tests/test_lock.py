"""The locks pin what pyproject.toml asks for, by hash, for the site alone and for everything."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from report.archive.bundle import LAB_PACKAGES, lab_requirements
from tests.conftest import PROJECT

PROJECT_TABLE = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE, ALL = ((PROJECT / name).read_text(encoding="utf-8") for name in ("base.lock", "all.lock"))


def pins(lock: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Each pin of a lock with its hashes."""
    for block in re.split(r"\n(?=\S)", lock.strip()):
        pin, *hashes = (part.strip() for part in block.split("\\\n"))
        yield Requirement(pin), hashes


def asked(*extras: str) -> list[Requirement]:
    texts = list(PROJECT_TABLE["dependencies"])
    for extra in extras:
        texts += PROJECT_TABLE["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize(
    ("lock", "extras"), [(BASE, ()), (ALL, ("lab", "test"))], ids=["base.lock", "all.lock"]
)
def test_each_dependency_is_pinned_to_a_version_that_is_asked_for(lock, extras):
    pinned = [(canonicalize_name(pin.name), str(pin.specifier)[2:]) for pin, _ in pins(lock)]

    for wanted in asked(*extras):
        versions = [version for name, version in pinned if name == canonicalize_name(wanted.name)]
        assert versions, f"{wanted} is not locked: make lock"
        assert all(wanted.specifier.contains(version) for version in versions), wanted


@pytest.mark.parametrize("lock", [BASE, ALL], ids=["base.lock", "all.lock"])
def test_a_lock_holds_pins_and_hashes_and_names_no_place_to_get_them(lock):
    for pin, hashes in pins(lock):
        assert re.fullmatch(r"==[0-9a-z.]+", str(pin.specifier)), pin
        assert hashes, f"{pin} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), pin
    assert "://" not in lock


def test_both_locks_agree_on_what_the_site_needs():
    everything = {str(pin).split(";")[0].strip(): hashes for pin, hashes in pins(ALL)}

    for pin, hashes in pins(BASE):
        assert everything[str(pin).split(";")[0].strip()] == hashes


def test_the_tpu_compiler_is_locked_apart_at_the_version_that_jax_pins():
    [(pin, hashes)] = pins((PROJECT / "tpu.lock").read_text(encoding="utf-8"))
    [asked_for] = map(Requirement, PROJECT_TABLE["optional-dependencies"]["tpu"])
    version = str(pin.specifier)[2:]
    jaxs_own = [
        wanted
        for wanted in map(Requirement, requires("jax") or ())
        if canonicalize_name(wanted.name) == "libtpu"
    ]

    assert hashes
    assert pin.name == asked_for.name == "libtpu"
    assert asked_for.specifier.contains(version)
    assert jaxs_own
    assert all(wanted.specifier.contains(version) for wanted in jaxs_own)


def test_no_other_lock_brings_the_tpu_compiler():
    assert "libtpu" not in {pin.name for lock in (BASE, ALL) for pin, _ in pins(lock)}


def test_the_site_needs_neither_jax_nor_numpy():
    assert not {pin.name for pin, _ in pins(BASE)} & set(LAB_PACKAGES)


def test_the_practice_workspace_asks_for_all_that_the_lab_needs_and_no_more():
    environment = default_environment() | {"extra": ""}
    needed, waiting = set(), ["jax", "jaxlib", "numpy"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in needed:
            needed.add(name)
            for requirement in map(Requirement, requires(name) or ()):
                if not requirement.marker or requirement.marker.evaluate(environment):
                    waiting.append(requirement.name)

    text, _ = lab_requirements(ALL)

    assert {pin.name for pin, _ in pins(text)} == needed == set(LAB_PACKAGES)
