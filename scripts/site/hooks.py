"""Pages of the site that are not in docs/: those of the repository's root, the measurements of benches/results, and copies of
the explorer (`kc explore`) of some examples, where a kc is built that makes them.

In the files, links lead where the files are, so that they work in a checkout. Here they lead to the pages.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OF_ROOT = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"]

#: The examples that the site has copies of.
EXPLORED = ["saxpy", "reduction", "spmv"]


def explorer(name):
    """The copy of an example; None: there is no kc."""
    built = [os.environ.get("KC", ""), ROOT / "target/release/kc", ROOT / "target/debug/kc"]
    kc = next((path for path in built if path and Path(path).is_file()), None)
    if kc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.html"
        subprocess.run([kc, "explore", f"examples/{name}.py", "--html", copy, "--quiet"], cwd=ROOT, check=True)
        return copy.read_text(encoding="utf-8")


def on_files(files, config):
    results = sorted((ROOT / "benches/results").glob("*.md"))
    places = {name: ROOT / name for name in OF_ROOT if (ROOT / name).exists()} | {f"results/{path.name}": path for path in results}
    for name, path in places.items():
        if name not in files.src_uris:
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for name in EXPLORED:
        if (copy := explorer(name)) is not None:
            files.append(File.generated(config, f"explore/{name}.html", content=copy))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri in OF_ROOT:
        return re.sub(r"\]\((?:\./)?docs/", "](", markdown)
    if uri == "explore.md" and (copies := [name for name in EXPLORED if f"explore/{name}.html" in files.src_uris]):
        links = ", ".join(f"[{name}.py](explore/{name}.html)" for name in copies)
        return markdown.replace("\n## Follow a line", f"\nCopies of some examples: {links}.\n\n## Follow a line", 1)
    if uri.startswith("results/"):
        return markdown.replace("](../../docs/", "](../")
    markdown = markdown.replace("](../benches/results/", "](results/")
    return re.sub(rf"\]\(\.\./({'|'.join(OF_ROOT)})", r"](\1", markdown)
