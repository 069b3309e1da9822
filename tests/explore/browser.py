"""Drives the page of `kc explore` in Chromium. Prints what it saw as JSON.

    browser.py CHROMIUM KC [FILE] [--times FILE]... [--copy FILE.html] [--pictures FOLDER]

The page of FILE is opened in a folder of its own, and used as a person would: something is typed, an error is seen and repaired by its
button, counters change, a line is pointed at. With `--times` each file is edited several times, and the milliseconds from the edit to
each part of the page are told. A copy is opened from the disk.
"""

import argparse
import base64
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "site"))
sys.dont_write_bytecode = True
from browser import LABELS, Browser  # noqa: E402

SECONDS = 60


class Page:
    """A page of kc in a browser."""

    def __init__(self, browser, kc, file, *options):
        self.browser, self.file = browser, file
        command = [kc, "explore", str(file), "--port", "0", *options]
        self.kc = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.kc.stdout.readline().strip()
        browser.open(self.address)
        self.until("kc.machine_of === 0")

    def close(self):
        # A page that waits for news complains of a server that is gone.
        self.browser.open("about:blank")
        self.kc.kill()
        self.kc.wait()

    def ask(self, expression):
        return self.browser.ask(expression)

    def until(self, condition):
        end = time.monotonic() + SECONDS
        while not self.ask(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition}: {self.ask('document.body.innerText')[:3000]} {self.ask('JSON.stringify(kc)')}")
            time.sleep(0.005)

    def settled(self):
        """The page has an answer to the last edit."""
        self.until("kc.machine_of === kc.sequence")

    def select(self, words):
        """Puts the cursor behind words of the source, by the keyboard's way in."""
        found = self.ask(f"""(() => {{
            const content = document.querySelector('.cm-content'), words = {json.dumps(words)};
            for (const line of content.querySelectorAll('.cm-line')) {{
                const at = line.textContent.indexOf(words);
                if (at < 0) continue;
                const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
                let left = at + words.length;
                for (let node; (node = walker.nextNode()); left -= node.length) {{
                    if (left > node.length) continue;
                    content.focus();
                    getSelection().collapse(node, left);
                    return true;
                }}
            }}
            return false;
        }})()""")
        assert found, f"the source has no {words}"

    def type(self, text):
        self.browser.call("Input.insertText", text=text)

    def key(self, key, code, **more):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def point(self, selector):
        box = self.ask(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}}); "
                       "const b = e.getBoundingClientRect(); return [b.x + Math.min(60, b.width / 2), b.y + b.height / 2]; })()")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])

    def lit(self):
        """How many lines are lit, by pane."""
        return self.ask("""Object.fromEntries([...document.querySelectorAll('.pane')].map(pane =>
            [pane.id, pane.querySelectorAll('.lit').length]))""")


def picture(browser, file):
    file.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))


def session(browser, kc, file, seen, pictures):
    page = Page(browser, kc, file)
    try:
        seen["panes"] = page.ask("""Object.fromEntries([...document.querySelectorAll('.pane .code')].map(code =>
            [code.closest('.pane').id, code.innerText.length]))""")
        seen["status"] = page.ask("document.getElementById('status').textContent")
        if pictures:
            page.point(".cm-line:nth-of-type(7)")
            picture(browser, pictures / "explore.png")
        for button in page.ask("[...document.querySelectorAll('#shown button')].map(b => b.textContent)"):
            page.ask(f"""[...document.querySelectorAll('#shown button')]
                .find(b => b.textContent === {json.dumps(button)} && b.getAttribute('aria-pressed') === 'false')?.click()""")
        page.until("document.querySelector('#pane-machine .body').innerText.length > 60")
        seen["lengths"] = page.ask("""Object.fromEntries([...document.querySelectorAll('.pane')].map(pane =>
            [pane.id, pane.querySelector('.body').innerText.length]))""")
        sums = "document.querySelector('#counters tr[data-line]') && [...document.querySelectorAll('#counters tr[data-line]')].map(r => r.innerText).join(';')"
        seen["counters"] = page.ask(sums)
        advice = "[...document.querySelectorAll('#counters ol li')].map(one => one.textContent)"
        seen["advice"] = page.ask(advice)

        # What the advice is about is repaired.
        page.select("x[i * 8")
        for _ in " * 8":
            page.key("Backspace", 8)
        page.settled()
        seen["after"], seen["advised"] = page.ask(sums), page.ask(advice)

        # An error where it is, and its repair.
        page.select("y[i] = a * x[i]")
        page.type(" * i")
        page.settled()
        seen["error"] = page.ask("[...document.querySelectorAll('#findings li')].map(li => li.className + ' ' + li.dataset.code)")
        seen["marks"] = page.ask("document.querySelectorAll('.cm-lintRange-error').length")
        seen["stale"] = page.ask("[...document.querySelectorAll('.pane.stale')].map(pane => pane.id)")
        seen["fixes"] = page.ask("[...document.querySelectorAll('#findings .fixes button')].map(b => b.textContent)")
        page.ask("document.querySelector('#findings .fixes button').click()")
        page.settled()
        seen["repaired"] = page.ask("document.querySelectorAll('#findings li.error').length")

        # Links between lines, by the pointer and by the keyboard.
        page.point(".cm-line:nth-of-type(7)")
        seen["pointed"] = page.lit()
        page.point("#pane-ptx .linked")
        seen["from_ptx"] = page.lit()
        page.ask("document.querySelector('#pane-cuda .code').focus()")
        for _ in range(40):
            page.key("ArrowDown", 40)
            seen["by_keys"] = page.lit()
            if seen["by_keys"]["source"]:
                break
        page.key("F6", 117)
        seen["f6"] = page.ask("document.activeElement.className + ' ' + (document.activeElement.getAttribute('aria-label') || '')")

        # Other sizes.
        page.ask("(() => { const t = document.getElementById('threads'); t.value = '64'; t.dispatchEvent(new Event('change')); })()")
        page.until("document.getElementById('threads').placeholder === '64'")
        seen["sizes"] = page.ask(sums)

        # What is on the disk.
        page.key("s", 83, modifiers=2)
        page.until("document.getElementById('status').textContent === 'saved'")
        seen["saved"] = file.read_text()
        file.write_text(seen["saved"].replace("a * x[i]", "x[i] * a"))
        page.until("document.querySelector('.cm-content').innerText.includes('x[i] * a')")

        for colours in ("light", "dark"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])
            looked = page.ask(LABELS)
            seen["faults"] += [f"{colours}: {fault}" for fault in looked["faults"]]
            seen["texts"] = looked["texts"]
            if pictures:
                picture(browser, pictures / f"explore-{colours}.png")
        browser.call("Emulation.setEmulatedMedia", features=[])
        seen["faults"] += list(browser.faults(page.address.rsplit("/", 2)[0]))
        seen["logs"] = [event["params"]["entry"]["text"] for event in browser.events if event.get("method") == "Log.entryAdded"]
    finally:
        page.close()


def times(browser, kc, file):
    """Milliseconds from an edit to each part, of several edits."""
    page = Page(browser, kc, file)
    parts = {"text": [], "counters": []}
    try:
        for n in range(12):
            page.ask("document.querySelector('.cm-content').focus()")
            page.key("End", 35, modifiers=2)
            page.type(f"\n# {n}")
            page.settled()
            for part, list_ in parts.items():
                list_.append(page.ask(f"kc.{part} - kc.edit"))
    finally:
        page.close()
    return {part: round(statistics.median(list_), 1) for part, list_ in parts.items()}


def copy(browser, file, seen):
    """A page that is a file alone."""
    browser.open(file.resolve().as_uri())
    seen["copy"] = browser.ask("""({
        status: document.getElementById('status').textContent, kernels: [...document.getElementById('kernel').options].map(o => o.value),
        panes: Object.fromEntries([...document.querySelectorAll('.pane')].map(pane => [pane.id, pane.querySelector('.body').textContent.length])),
        hot: document.querySelectorAll('#source [class*=heat]').length,
    })""")
    browser.ask("document.querySelector('#source .code').focus()")
    for _ in range(9):
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowDown", windowsVirtualKeyCode=40)
    seen["copy"]["lit"] = browser.ask("document.querySelectorAll('#pane-ptx .lit, #pane-cuda .lit').length")
    seen["faults"] += list(browser.faults("file://"))
    seen["logs"] += [event["params"]["entry"]["text"] for event in browser.events if event.get("method") == "Log.entryAdded"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("kc")
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--times", type=Path, action="append", default=[])
    parser.add_argument("--copy", type=Path)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    seen = {"faults": [], "times": {}, "logs": []}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(given.program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ["Page", "Runtime", "Network", "Log"]:
                browser.call(f"{domain}.enable")
            browser.call("Emulation.setDeviceMetricsOverride", width=1500, height=860, deviceScaleFactor=1, mobile=False)
            if given.file:
                session(browser, given.kc, given.file, seen, given.pictures)
            for file in given.times:
                seen["times"][file.name] = times(browser, given.kc, file)
            if given.copy:
                copy(browser, given.copy, seen)
        finally:
            browser.process.kill()
            browser.process.wait()
    print(json.dumps(seen, indent=1))


main()
