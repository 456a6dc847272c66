"""A real Chromium without a window, driven over its DevTools pipe: no driver, no library."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

# Debian's name, and what others call it.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]
KEYS = {
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Tab": 9,
    " ": 32,
}


class Browser:
    """One process and one page. Used with `with`."""

    def __init__(self, timeout=60):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if not program:
            raise RuntimeError("chromium not found; run tools/install-deps")
        self.timeout = timeout
        self.numbers = itertools.count(1)
        self.events, self.buffer = [], b""
        self.profile = tempfile.TemporaryDirectory(
            prefix="glassformer-web-", ignore_cleanup_errors=True
        )
        self._start(program)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _start(self, program):
        """Chromium reads commands from descriptor 3 and answers on 4."""
        self.session = None
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()

        def wire():
            # Copies out of the way first: the pipes may themselves be 3 or 4.
            reading, writing = (
                fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (command_read, answer_write)
            )
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=wire,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.send("Browser.close")  # Ends its helpers too, which write to the profile.
            self.process.wait(self.timeout)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.command)
        os.close(self.answer)
        self.profile.cleanup()

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answer], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium did not answer")
            piece = os.read(self.answer, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.command, data) :]
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def event(self, method):
        """Waits for an event that has not been asked for yet."""
        deadline = time.monotonic() + self.timeout
        while True:
            for index, event in enumerate(self.events):
                if event["method"] == method:
                    return self.events.pop(index)["params"]
            answer = self._receive(deadline)
            if "method" in answer:
                self.events.append(answer)

    # --- what a reader does ---

    def size(self, width, height, scale=1, phone=False):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=phone,
        )

    def prefer(self, scheme):
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def open(self, path, address=""):
        self.events.clear()
        self.send("Page.navigate", url="about:blank")
        self.event("Page.loadEventFired")
        self.events.clear()
        self.send("Page.navigate", url=Path(path).resolve().as_uri() + address)
        self.event("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page; promises are waited for."""
        result = self.send(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, condition):
        """Until an expression holds; its value, or true for an element."""
        condition = f"(found => found instanceof Node || found)({condition})"
        deadline = time.monotonic() + self.timeout
        while True:
            value = self.run(condition)
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"did not come true: {condition}")
            time.sleep(0.02)

    def frame(self):
        """Until the page has drawn what it was asked to."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def texts(self, selector):
        return self.run(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"
        )

    def text(self, selector):
        found = self.wait(
            f"document.querySelector({json.dumps(selector)})"
            " && [document.querySelector(" + json.dumps(selector) + ").textContent]"
        )
        return found[0]

    def middle(self, selector):
        box = self.wait(
            "(() => { const e = document.querySelector(%s); if (!e) return null;"
            " e.scrollIntoView({block: 'center', inline: 'center'});"
            " const b = e.getBoundingClientRect();"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()" % json.dumps(selector)
        )
        return box

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def point(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.frame()

    def click_at(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.frame()

    def click(self, selector):
        self.click_at(*self.middle(selector))

    def press(self, key, shift=False):
        code = KEYS.get(key) or ord(key.upper())
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)
        self.frame()

    def choose(self, label, value):
        """Picks an option of the list with that label."""
        self.run(
            "(() => { const s = document.querySelector('select[aria-label=\"%s\"]');"
            " s.value = %s; s.dispatchEvent(new Event('change', {bubbles: true})); })()"
            % (label, json.dumps(value))
        )
        self.frame()

    def screenshot(self, path):
        result = self.send("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(result["data"]))

    def complaints(self):
        """What went wrong in the page since it was opened: exceptions, errors, requests."""
        self.frame()
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(f"console.{params['type']}")
            elif event["method"] == "Page.javascriptDialogOpening":
                found.append(f"dialog: {params['message']}")
            elif event["method"] == "Network.requestWillBeSent":
                if not params["request"]["url"].startswith(("file:", "data:", "about:")):
                    found.append(f"request: {params['request']['url']}")
        return found
