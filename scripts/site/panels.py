#!/usr/bin/env python3
"""Draws docs/home.svg: a kernel, and beside it the CUDA text, the PTX and the gradient that kc makes of it.

    scripts/site/panels.py KC > docs/home.svg

The kernel is the first of docs/index.md. Nothing is drawn that kc did not write; the PTX lacks the lines before and behind
the computation. `cargo test --test site` draws it again and compares.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LETTER, LINE, EDGE = 7.23, 17, 14
COLOURS = {"word": "#d3a4f7", "number": "#ff9db0", "comment": "#a3b1ba", "type": "#8fd6e8"}
WORDS = {
    "python": r"\b(?:import|as|def|for|in|return)\b|@[\w.]+",
    "cuda": r"\b(?:extern|if|return|const)\b|\b__\w+__\b|\"C\"",
    "ptx": r"(?<![\w.%])[a-z]+(?:\.[\w:]+)+",
    "diff": r"^[+-].*",
    "text": r"^error\[\w+\].*",
}
TYPES = r"\b(?:float|int|void|wp)\b"


def kernel():
    page = (ROOT / "docs/index.md").read_text()
    block = re.search(r"^( *)```python\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    return "\n".join(line.removeprefix(block[1]) for line in block[2].rstrip().split("\n"))


def compiled(kc, folder, *options):
    command = [kc, "compile", "fade.py", "-o", "-", *options]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def function(text, start):
    found = text[text.index(start):]
    return found[: found.index("\n}\n") + 2]


def rows(kc):
    source = kernel()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fade.py").write_text(source + "\n")
        cuda = compiled(kc, folder, "--emit", "cuda", "--abi", "plain")
        ptx = compiled(kc, folder, "--emit", "ptx", "--arch", "sm_90", "--no-backward", "--layout", "contiguous", "--grid", "covering")
    body = ptx[ptx.index("\tmul.wide.s32"): ptx.index("$L__BB0_2:")]
    shown = source[source.index("@wp.kernel"):]
    core = re.sub(r"[ \t]*\t", " ", body.replace("\n\t", "\n").strip("\t\n"))
    return [
        [("fade.py: the kernel", "python", shown), ("PTX for sm_90", "ptx", core)],
        [("CUDA C++", "cuda", function(cuda, 'extern "C" __global__ void fade('))],
        [("CUDA C++: its gradient", "cuda", function(cuda, 'extern "C" __global__ void fade_backward('))],
    ]


def widest(text):
    return max(map(len, text.split("\n")))


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def coloured(line, language):
    """The line with colours, as spans of SVG."""
    comment = "#" if language == "python" else "//"
    pattern = f"(?P<comment>{comment}.*)|(?P<word>{WORDS[language]})|(?P<type>{TYPES})|(?P<number>(?<![\\w%.])(?:0f[0-9A-F]+|\\d[\\w.]*))"
    out, at = [], 0
    for found in re.finditer(pattern, line):
        out.append(escaped(line[at: found.start()]))
        out.append(f'<tspan fill="{COLOURS[found.lastgroup]}">{escaped(found[0])}</tspan>')
        at = found.end()
    return "".join(out) + escaped(line[at:])


def drawn(rows):
    """The panels of each row side by side: width, height, elements."""
    letters = max(sum(widest(text) for *_, text in row) + 3 * len(row) for row in rows)
    width, y, out = round(letters * LETTER) + EDGE, EDGE, []
    for row in rows:
        height = (max(text.count("\n") for *_, text in row) + 2) * LINE + 22
        share = (width - EDGE - 8 * (len(row) - 1)) / sum(widest(text) + 3 for *_, text in row)
        x = EDGE / 2
        for title, language, text in row:
            wide = share * (widest(text) + 3)
            out.append(f'<rect x="{x:.0f}" y="{y}" width="{wide:.0f}" height="{height}" rx="6" fill="#1e2930"/>')
            out.append(f'<text x="{x + EDGE:.0f}" y="{y + 19}" class="title">{escaped(title)}</text>')
            for number, line in enumerate(text.split("\n")):
                out.append(f'<text x="{x + EDGE:.0f}" y="{y + 40 + number * LINE}">{coloured(line, language)}</text>')
            x += wide + 8
        y += height + 8
    return width, y + EDGE // 2, out


def svg(title, rows):
    width, height, out = drawn(rows)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="what">',
        f'<title id="what">{escaped(title)}</title>',
        "<style>text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e2ecef;white-space:pre}"
        ".title{font-weight:bold;fill:#5eead4}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#10181c"/>',
        *out,
        "</svg>",
    ])


def main():
    print(svg("A kernel in Python, and the CUDA C++, the PTX and the gradient that kc makes of it", rows(sys.argv[1])))


if __name__ == "__main__":
    main()
