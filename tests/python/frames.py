"""Headless Chromium, as far as tests of frames in a page need it: DevTools messages through two pipes."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

import pytest

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--remote-debugging-pipe"]


class Browser:
    """One tab. `complaints` has errors of scripts in the page and its frames."""

    def __init__(self):
        program = shutil.which("chromium")
        if program is None:
            pytest.skip("chromium is not installed")
        self.directory = tempfile.TemporaryDirectory(prefix="heedml-", ignore_cleanup_errors=True)
        (commands, self.to), (self.answers, sent) = os.pipe(), os.pipe()

        def connect():
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (commands, sent)]  # away from 3 and 4, which chromium uses
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen([program, *OPTIONS, f"--user-data-dir={self.directory.name}", "about:blank"], preexec_fn=connect,
                                        close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(sent)
        self.received, self.calls, self.contexts, self.complaints = b"", 0, [], []
        tab = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)["sessionId"]
        self.watch(self.session)
        self.call("Page.enable", self.session)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.directory.cleanup()

    def send(self, method, session=None, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.calls

    def call(self, method, session=None, **parameters):
        number = self.send(method, session, **parameters)
        while True:
            while b"\0" not in self.received:
                block = os.read(self.answers, 1 << 16)
                assert block, "chromium ended"
                self.received += block
            text, self.received = self.received.split(b"\0", 1)
            message = json.loads(text)
            if message.get("id") == number:
                assert "result" in message or method == "Runtime.evaluate", message  # a frame may just have gone
                return message.get("result", {})
            self.note(message)

    def note(self, message):
        given, session = message.get("params", {}), message.get("sessionId")
        if message.get("method") == "Target.attachedToTarget":  # a frame with a process of its own
            self.watch(given["sessionId"])
        elif message.get("method") == "Runtime.executionContextCreated":
            self.contexts.append((session, given["context"]["id"], given["context"]["auxData"]["frameId"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))

    def watch(self, session):
        self.send("Runtime.enable", session)
        self.send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def open(self, address):
        self.top = self.call("Page.navigate", self.session, url=address)["frameId"]

    def run(self, expression):
        """Returns the value of the expression in the newest frame of the page, or None before it has loaded."""
        self.call("Browser.getVersion")
        frames = [(session, context) for session, context, frame in self.contexts if frame != self.top]
        if not frames:
            return None
        session, context = frames[-1]
        found = self.call("Runtime.evaluate", session, expression=expression, contextId=context, returnByValue=True, awaitPromise=True)
        return None if "exceptionDetails" in found else found.get("result", {}).get("value")

    def wait_for(self, expression):
        for _ in range(200):
            value = self.run(expression)
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"not within 20 s: {expression}; {self.complaints}")


@pytest.fixture
def browser():
    one = Browser()
    yield one
    one.close()
