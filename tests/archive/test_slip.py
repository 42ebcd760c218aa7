"""Does the slip say who signed, and no more than it was told?"""

from hashlib import sha256

from report.archive.slip import names_on, slip

TOLD = {"release": "tiny-1", "title": "A title", "date": "2026-11-30"}
ONE, TWO = f"SHA256:{'a' * 43}", f"SHA256:{'b' * 43}"


def test_two_keys_are_two_words_and_one_key_is_one():
    both = slip(TOLD, b"", {"author": ONE, "reviewer": TWO}, {})
    same = slip(TOLD, b"", {"author": ONE, "reviewer": ONE}, {})

    assert "one person's word" not in both
    assert both.count("--key") == 2
    assert "this is one person's word, not two." in same
    assert same.count("--key") == 1


def test_a_release_without_its_author_is_said_to_be_so():
    text = slip(TOLD, b"", {"reviewer": TWO}, {})

    assert "The author has not signed" in text
    assert "The author has not signed" not in slip(TOLD, b"", {"author": ONE}, {})


def test_a_title_takes_no_more_than_the_sheet_and_acts_on_no_terminal():
    text = slip(TOLD | {"title": "long " * 30 + "\x1b[2J", "date": "\x07"}, b"", {}, {})

    assert max(map(len, text.splitlines())) <= 72
    assert "\x1b" not in text
    assert "\x07" not in text


def test_names_are_read_again_from_a_slip_of_the_same_list_alone(tmp_path):
    place = tmp_path / "slip.txt"
    names = {f"author {ONE}": "lab@example.org", f"reviewer {TWO}": "reader@example.org"}
    place.write_text(slip(TOLD, b"a list", {"author": ONE, "reviewer": TWO}, names))

    assert sha256(b"a list").hexdigest() in place.read_text()
    assert names_on(place, b"a list") == names
    assert names_on(place, b"another list") == {}
    assert names_on(tmp_path / "none", b"a list") == {}
