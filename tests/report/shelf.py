"""What is kept between the builds of a test."""


class Shelf(dict[str, bytes]):
    """A cache that lives as long as a test."""

    def put(self, key: str, data: bytes) -> None:
        self[key] = data
