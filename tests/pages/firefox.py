"""A stock Firefox, driven over WebDriver BiDi (https://w3c.github.io/webdriver-bidi/)."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = {
    # A proxy that is not there: whatever leaves the machine fails.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "remote.prefs.recommended": True,
}
PATIENCE_S = 120
EVENTS = ("log.entryAdded", "network.beforeRequestSent", "network.fetchError")


@contextmanager
def running(profile: Path) -> "Iterator[Firefox]":
    """A Firefox of its own, ended when the block is left."""
    lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    options = ["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", profile]
    with subprocess.Popen(
        [str(FIREFOX), *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr
            said = (re.search(r"BiDi listening on (ws://\S+)", line) for line in process.stderr)
            address = next(found[1] for found in said if found)
            with connect(f"{address}/session", max_size=None, open_timeout=PATIENCE_S) as socket:
                browser = Firefox(socket)
                yield browser
                browser.command("browser.close")
        finally:
            process.kill()


class Firefox:
    """One headless browser with one tab. `events` holds what it reported since the last `open`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self._count = 0
        self.command("session.new", capabilities={})
        self.command("session.subscribe", events=list(EVENTS))
        [tab] = self.command("browsingContext.getTree")["contexts"]
        self.tab = tab["context"]

    def command(self, method: str, **params: Any) -> Any:
        """Send one command and wait for its answer; events that come meanwhile are kept."""
        self._count += 1
        self.socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            told = json.loads(self.socket.recv(timeout=PATIENCE_S))
            if told.get("id") == self._count:
                assert told["type"] == "success", told
                return told["result"]
            if told["type"] == "event":
                self.events.append(told)

    def open(self, url: str) -> None:
        self.events.clear()
        self.command("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON; a promise is waited for."""
        answer = self.command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height}
        self.command("browsingContext.setViewport", context=self.tab, viewport=size)

    def choose(self, selector: str, *files: Path) -> None:
        """Give files to a file input."""
        located = self.command(
            "browsingContext.locateNodes",
            context=self.tab,
            locator={"type": "css", "value": selector},
        )
        [node] = located["nodes"]
        self.command(
            "input.setFiles",
            context=self.tab,
            element={"sharedId": node["sharedId"]},
            files=[str(file) for file in files],
        )

    def complaints(self) -> list[str]:
        """Console lines, script errors, policy violations, requests that leave the disk or fail."""
        told = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "log.entryAdded":
                told.append(f"{params['level']}: {params['text']}")
            elif event["method"] == "network.fetchError":
                told.append(f"failed: {params['request']['url']}")
            elif not re.match("(file|data|blob):", url := params["request"]["url"]):
                told.append(f"asks for {url}")
        return told
