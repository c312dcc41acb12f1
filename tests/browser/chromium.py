# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, asked through its debugging pipe: no port, no library.

    with Chromium() as browser:
        browser.open("/tmp/report.html", width=1280, height=900)
        browser.evaluate("document.title")
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 120


def find():
    """Path of the browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    def __init__(self, program=None):
        self.home = tempfile.mkdtemp(prefix="tilewise-chromium-")
        to_read, self.to = os.pipe()
        self.of, from_write = os.pipe()
        self.log = open(os.path.join(self.home, "stderr"), "w+b")
        arguments = [
            program or find(), "--headless=new", "--remote-debugging-pipe", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
            "--font-render-hinting=none", "--force-device-scale-factor=1",
            "--user-data-dir=" + os.path.join(self.home, "profile"), "about:blank"
        ]
        if os.geteuid() == 0:  # its sandbox needs another user; the page runs no script
            arguments.insert(1, "--no-sandbox")

        def give_pipe():  # the browser reads 3 and writes 4
            reading, writing = os.dup(to_read), os.dup(from_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(arguments, preexec_fn=give_pipe, pass_fds=(3, 4),
                                        env={**os.environ, "HOME": self.home},
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.session = b"", 0, None
        self.events = []  # (method, params), since open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def fail(self, what):
        self.log.seek(0)
        raise RuntimeError(f"{what}; the browser said: {self.log.read()[-2000:].decode(errors='replace')}")

    def receive(self, end_s):
        while b"\0" not in self.buffer:
            if not select.select([self.of], [], [], max(0, end_s - time.monotonic()))[0]:
                self.fail("no answer in time")
            more = os.read(self.of, 1 << 16)
            if not more:
                self.fail("the browser ended")
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        if "method" in message:
            self.events.append((message["method"], message["params"]))
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end_s = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.receive(end_s)
            if answer.get("id") == self.number:
                if "error" in answer:
                    self.fail(f"{method}: {answer['error']}")
                return answer["result"]

    def wait(self, method):
        end_s = time.monotonic() + TIMEOUT_S
        while not any(name == method for name, _ in self.events):
            self.receive(end_s)

    def open(self, path, width=1280, height=900):
        """Load the file and wait until all of it is there."""
        if not self.session:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in "Page", "Network", "Runtime", "Log":
                self.call(domain + ".enable")
        self.resize(width, height)
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("Page.loadEventFired")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def emulate(self, **features):
        """As the page's media queries see them: emulate(prefers_color_scheme="dark")."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            self.fail(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key):
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key],
                      **({"text": "\r"} if key == "Enter" else {}))

    def screenshot(self, scale=1):
        """PNG of what is in view."""
        width, height, x, y = self.evaluate("[innerWidth, innerHeight, scrollX, scrollY]")
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def complaints(self):
        """What the page wrote to the console, and what it threw."""
        said = []
        for method, params in self.events:
            if method == "Runtime.consoleAPICalled":
                said.append(str([a.get("value") for a in params["args"]]))
            elif method == "Runtime.exceptionThrown":
                said.append(params["exceptionDetails"]["text"])
            elif method == "Log.entryAdded":
                said.append(params["entry"]["text"])
        return said

    def requests(self):
        """Addresses that were asked for, the page's own first."""
        return [params["request"]["url"] for method, params in self.events
                if method == "Network.requestWillBeSent"]
