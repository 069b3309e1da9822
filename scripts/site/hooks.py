"""Pages of the site that are not in docs/: those of the repository's root, the measurements of benches/results, notebooks of the
examples, and copies of the explorer (`kc explore`) of them, where a kc is built that makes them.

In the files, links lead where the files are, so that they work in a checkout. Here they lead to the pages.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OF_ROOT = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"]

sys.path.append(str(ROOT / "scripts/site"))
import notebooks  # noqa: E402

#: The examples that the page about the explorer has copies of.
EXPLORED = ["saxpy", "reduction", "spmv"]
#: Title, name and notebook of each example that has one.
EXAMPLES = list(notebooks.notebooks())


def source(name):
    """The kernels of an example of docs/examples.md, or of the page about the explorer."""
    places = [ROOT / "examples/python" / f"{name}.py", ROOT / "examples" / f"{name}.py"]
    program = ROOT / "examples/programs" / f"{name}.json"
    if program.exists():
        places.append((program.parent / json.loads(program.read_text())["source"]).resolve())
    return next(path for path in places if path.exists())


def explorers(names):
    """Copies of the explorer by the names of examples; none where there is no kc."""
    built = [os.environ.get("KC", ""), ROOT / "target/release/kc", ROOT / "target/debug/kc"]
    kc = next((path for path in built if path and Path(path).is_file()), None)
    if kc is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:

        def copy(name):
            page = Path(folder) / f"{name}.html"
            subprocess.run([kc, "explore", source(name), "--html", page, "--quiet"], cwd=ROOT, check=True)
            return page.read_text(encoding="utf-8")

        with ThreadPoolExecutor(2) as pool:
            return dict(zip(names, pool.map(copy, names)))


def on_files(files, config):
    results = sorted((ROOT / "benches/results").glob("*.md"))
    places = {name: ROOT / name for name in OF_ROOT if (ROOT / name).exists()} | {f"results/{path.name}": path for path in results}
    for name, path in places.items():
        if name not in files.src_uris:
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for _, name, notebook in EXAMPLES:
        files.append(File.generated(config, f"notebooks/{name}.ipynb", content=json.dumps(notebook, indent=1)))
    for name, copy in explorers(sorted({*EXPLORED, *(name for _, name, _ in EXAMPLES)})).items():
        files.append(File.generated(config, f"explore/{name}.html", content=copy))
    return files


def with_links(markdown, files):
    """Each example that has a notebook ends with a link to it, and to the copy of the explorer."""
    names = {title: name for title, name, _ in EXAMPLES}

    def linked(section):
        name = names.get(section.split("\n", 1)[0].removeprefix("## "))
        if name is None:
            return section
        links = [f"[Notebook](notebooks/{name}.ipynb) for Colab or Jupyter"]
        if f"explore/{name}.html" in files.src_uris:
            links.insert(0, f"[Its kernels in the explorer](explore/{name}.html)")
        return f"{section.rstrip()}\n\n{' · '.join(links)}\n\n"

    return "".join(map(linked, re.split(r"^(?=## )", markdown, flags=re.MULTILINE)))


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri in OF_ROOT:
        return re.sub(r"\]\((?:\./)?docs/", "](", markdown)
    if uri == "examples.md":
        return with_links(markdown, files)
    if uri == "explore.md" and (copies := [name for name in EXPLORED if f"explore/{name}.html" in files.src_uris]):
        links = ", ".join(f"[{name}.py](explore/{name}.html)" for name in copies)
        return markdown.replace("\n## Follow a line", f"\nCopies of some examples: {links}.\n\n## Follow a line", 1)
    if uri.startswith("results/"):
        return markdown.replace("](../../docs/", "](../")
    markdown = markdown.replace("](../benches/results/", "](results/")
    return re.sub(rf"\]\(\.\./({'|'.join(OF_ROOT)})", r"](\1", markdown)
