"""Opens every page of a site in Chromium, looks for what a reader would miss, and searches. Prints what it found as JSON.

    browser.py CHROMIUM SITE [--pictures FOLDER] [--phone] [--look PAGE]... [--disk WORD] WORD...

With `--pictures` each page is also taken as it shows at first. With `--phone` nothing may leave a screen of 360 pixels. Of the
pages of `--look`, names of controls, alternative texts, headings and contrast are checked, in light and in dark colours. The word of `--disk` is searched in
the page as it is opened without a server.

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

SECONDS = 600  # for all of it
START = time.monotonic()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site. The index of the search is empty until a test searches: a browser reads it longer than a page."""

    searches = False

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path != "/search/search_index.json" or self.searches:
            return super().do_GET()
        config = json.loads((Path(self.directory) / "search/search_index.json").read_text())["config"]
        empty = json.dumps({"config": config, "docs": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(empty)))
        self.end_headers()
        self.wfile.write(empty)


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
        # One process shows all pages, and none is kept for a way back: that takes half of the time.
        flags += ["--renderer-process-limit=1", "--disable-site-isolation-trials", "--disable-back-forward-cache", "--in-process-gpu"]
        flags += ["--disable-features=RenderDocument,IsolateOrigins,site-per-process,SpareRendererForSitePerProcess"]
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

    def search(self, root, word):
        """The pages that a search finds, in its order."""
        self.open(f"{root}index.html?q={word}")
        links = "[...document.querySelectorAll('a.md-search-result__link')].map(link => link.href)"
        until = min(time.monotonic() + 10, START + SECONDS)
        while not (hits := self.ask(links)) and time.monotonic() < until:
            time.sleep(0.05)
        return [hit.removeprefix(root).split("?")[0].split("#")[0] for hit in hits]

    def loaded(self):
        """Bytes that the page has asked for, without the index of the search, which comes behind it."""
        urls = {event["params"]["requestId"]: event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"}
        ends = [event["params"] for event in self.events if event.get("method") == "Network.loadingFinished"]
        return sum(end["encodedDataLength"] for end in ends if "search_index" not in urls.get(end["requestId"], ""))

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
    words: (document.querySelector('article') || document.body).innerText.split(/\\s+/).length,
    pictures: [...document.images].length,
    broken: [...document.images].filter(image => !image.complete || image.naturalWidth === 0).map(image => image.src),
    links: [...document.links].map(link => link.href).filter(href => href.startsWith(location.origin)),
    ids: [...document.querySelectorAll('[id]')].map(element => element.id),
})"""

# Elements that leave the screen and that nothing around them lets a reader scroll to.
WIDE = """(() => {
    const scrolls = element => {
        for (let at = element; at && at !== document.body; at = at.parentElement)
            if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX)) return true;
        return false;
    };
    const wide = [...document.querySelectorAll('article *, header *, footer *')].filter(element => {
        const box = element.getBoundingClientRect();
        return box.width > 0 && box.right > innerWidth + 1 && !element.closest('nav, [hidden], svg, .md-search') && !scrolls(element);
    });
    return wide.slice(0, 3).map(element => element.tagName + ': ' + element.innerText.slice(0, 60));
})()"""

# What WCAG 2.2 asks of a page, as far as a program sees it: names (4.1.2, 1.1.1), language (3.1.1), headings (1.3.1) and
# contrast of text (1.4.3: 4.5, or 3 for large letters).
LABELS = """(() => {
    const faults = [], shown = element => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
    if (!document.documentElement.lang) faults.push('the page has no language');
    if (document.querySelectorAll('h1').length !== 1) faults.push('the page has not one h1');
    let last = 1;
    for (const heading of document.querySelectorAll('article h1, article h2, article h3, article h4')) {
        const level = Number(heading.tagName[1]);
        if (level > last + 1) faults.push(`a heading of level ${level} follows one of ${last}: ${heading.innerText}`);
        last = level;
    }
    for (const image of document.images) if (!image.alt) faults.push(`no text for ${image.src}`);
    for (const control of document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')) {
        if (!shown(control) || control.closest("[aria-hidden=true]")) continue;
        const named = [control.getAttribute('aria-label'), control.title, control.innerText, control.querySelector?.('img')?.alt]
            .concat([...(control.labels || [])].map(label => label.innerText || label.title || label.getAttribute('aria-label')));
        if (!named.some(name => name && name.trim())) faults.push(`a control without a name: ${control.outerHTML.slice(0, 90)}`);
    }
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const mixed = new Map();
    const over = colours => {
        const key = colours.join();
        if (!mixed.has(key)) mixed.set(key, mix(colours));
        return mixed.get(key);
    };
    const mix = colours => {
        canvas.fillStyle = '#fff';
        canvas.fillRect(0, 0, 1, 1);
        for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
    const light = rgb => {
        const [r, g, b] = rgb.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = new Set();
    let texts = 0;
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (!node.data.trim() || seen.has(element) || !shown(element) || element.closest('svg, script, style, .md-search__output')) continue;
        seen.add(element);
        const behind = [];
        let faint = 1;
        for (let at = element; at; at = at.parentElement) {
            behind.unshift(getComputedStyle(at).backgroundColor);
            faint *= Number(getComputedStyle(at).opacity);
        }
        if (faint < 0.3) continue;  // appears when it is pointed at
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        const ground = over(behind), ink = over([...behind, style.color]);
        const [a, b] = [light(ground), light(ink)].sort((a, b) => b - a), ratio = (a + 0.05) / (b + 0.05);
        const enough = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        if (ratio < enough) faults.push(`contrast ${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)} (${element.className || element.tagName})`);
        texts += 1;
    }
    return { faults: faults.slice(0, 12), texts };
})()"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--phone", action="store_true")
    parser.add_argument("--disk")
    parser.add_argument("--look", action="append", default=[])
    parser.add_argument("words", nargs="*")
    given = parser.parse_intermixed_args()
    program, site, words = given.program, given.site, given.words
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_address[1]}/"
    pages, faults, found, looked, disk = {}, [], {}, {}, []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ["Page", "Runtime", "Network"]:
                browser.call(f"{domain}.enable")
            if given.pictures:
                browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=1500, deviceScaleFactor=1, mobile=False)
            if given.phone:
                browser.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
            for path in sorted(site.rglob("*.html")):
                name = path.relative_to(site).as_posix()
                if name == "404.html":
                    continue
                # Scripts are the same on all pages, and take a browser longer than anything else.
                scripted = not given.look or name in given.look
                browser.call("Emulation.setScriptExecutionDisabled", value=not scripted)
                # The first page as somebody sees it who was never here.
                browser.call("Network.setCacheDisabled", cacheDisabled=name == "index.html")
                browser.open(root + name)
                pages[name] = browser.ask(LOOK)
                pages[name]["bytes"] = browser.loaded()
                if given.phone:
                    faults += [f"{name}: wider than a phone: {what}" for what in browser.ask(WIDE)]
                for colours in ("light", "dark") if name in given.look else ():
                    features = [{"name": "prefers-color-scheme", "value": colours}]
                    browser.call("Emulation.setEmulatedMedia", features=features)
                    browser.open(root + name)
                    seen = browser.ask(LABELS)
                    faults += [f"{name}, {colours}: {fault}" for fault in seen["faults"]]
                    looked[f"{name}, {colours}"] = seen["texts"]
                if given.pictures:
                    picture = browser.call("Page.captureScreenshot", format="png")["data"]
                    (given.pictures / name).with_suffix(".png").write_bytes(base64.b64decode(picture))
                faults += [f"{name}: {fault}" for fault in browser.faults(root)]
            Handler.searches = True
            browser.call("Emulation.setScriptExecutionDisabled", value=False)
            browser.call("Emulation.clearDeviceMetricsOverride")
            for word in words:
                found[word] = browser.search(root, word)
            if given.disk:
                disk = browser.search(f"{site.resolve().as_uri()}/", given.disk)
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
    summary = {name: {key: page[key] for key in ("title", "words", "pictures", "bytes")} for name, page in pages.items()}
    links = sum(len(page["links"]) for page in pages.values())
    print(json.dumps({"pages": summary, "links": links, "found": found, "looked": looked, "disk": disk, "faults": faults}, indent=1))


if __name__ == "__main__":
    main()
