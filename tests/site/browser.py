"""Opens every page of a site in Chromium, looks for what a reader would miss, and searches. Prints what it found as JSON.

    browser.py CHROMIUM SITE [--pictures FOLDER] WORD...

With `--pictures` each page is also taken as it shows at first.

The browser is driven through its debugging pipe (`--remote-debugging-pipe`: messages of JSON, each with a zero byte at its end).
"""

import argparse
import base64
import functools
import http.server
import json
import os
import select
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SECONDS = 60  # for all of it
START = time.monotonic()


class Browser:
    def __init__(self, program, profile):
        to_it, self.send_to = os.pipe()
        self.receive_from, from_it = os.pipe()

        def connect():
            # The numbers that the browser takes; copies first, since one may have the other's number.
            reads, writes = os.dup(to_it), os.dup(from_it)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={profile}", "about:blank"],
            close_fds=False,
            preexec_fn=connect,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        self.pending, self.events, self.number, self.session = b"", [], 0, None

    def receive(self):
        while b"\0" not in self.pending:
            left = START + SECONDS - time.monotonic()
            if left <= 0 or not select.select([self.receive_from], [], [], left)[0]:
                raise TimeoutError(f"the browser does not answer within {SECONDS} s")
            more = os.read(self.receive_from, 1 << 20)
            if not more:
                raise ConnectionError("the browser has ended")
            self.pending += more
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send_to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def faults(self, root):
        """What went wrong since the page was asked for; pages need no other server."""
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                yield details.get("exception", {}).get("description", details.get("text", "an exception"))
            if event.get("method") == "Network.requestWillBeSent" and not params["request"]["url"].startswith((root, "data:")):
                yield f"asks for {params['request']['url']}"
            response = params.get("response", {})
            if event.get("method") == "Network.responseReceived" and response["status"] >= 400:
                yield f"{response['url']}: {response['status']}"


# Pictures that do not show, and links within the site with the element that they name.
LOOK = """({
    title: document.title,
    words: (document.querySelector('[role=main]') || document.body).innerText.split(/\\s+/).length,
    pictures: [...document.images].length,
    broken: [...document.images].filter(image => !image.complete || image.naturalWidth === 0).map(image => image.src),
    links: [...document.links].map(link => link.href).filter(href => href.startsWith(location.origin)),
    ids: [...document.querySelectorAll('[id]')].map(element => element.id),
})"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    program, site, words = given.program, given.site, given.words
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.func.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_address[1]}/"
    pages, faults, found = {}, [], {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ["Page", "Runtime", "Network"]:
                browser.call(f"{domain}.enable")
            if given.pictures:
                browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=1500, deviceScaleFactor=1, mobile=False)
            for path in sorted(site.rglob("*.html")):
                name = path.relative_to(site).as_posix()
                if name in ("404.html", "search.html"):
                    continue
                browser.open(root + name)
                pages[name] = browser.ask(LOOK)
                if given.pictures:
                    picture = browser.call("Page.captureScreenshot", format="png")["data"]
                    (given.pictures / name).with_suffix(".png").write_bytes(base64.b64decode(picture))
                faults += [f"{name}: {fault}" for fault in browser.faults(root)]
            for word in words:
                browser.open(f"{root}search.html?q={word}")
                links = "[...document.querySelectorAll('#mkdocs-search-results article a')].map(link => link.href)"
                until = min(time.monotonic() + 10, START + SECONDS)
                while not (hits := browser.ask(links)) and time.monotonic() < until:
                    time.sleep(0.05)
                found[word] = [hit.removeprefix(root).split("?")[0].split("#")[0] for hit in hits]
        finally:
            browser.process.kill()
            browser.process.wait()
    for name, page in pages.items():
        faults += [f"{name}: the picture {picture} does not show" for picture in page["broken"]]
        for link in page["links"]:
            path, _, anchor = link.removeprefix(root).partition("#")
            path = path.split("?")[0] or "index.html"
            if not (site / path).is_file():
                faults.append(f"{name}: {link} leads nowhere")
            elif anchor and path in pages and anchor not in pages[path]["ids"]:
                faults.append(f"{name}: {link} names no place of that page")
    summary = {name: {key: page[key] for key in ("title", "words", "pictures")} for name, page in pages.items()}
    links = sum(len(page["links"]) for page in pages.values())
    print(json.dumps({"pages": summary, "links": links, "found": found, "faults": faults}, indent=1))


main()
