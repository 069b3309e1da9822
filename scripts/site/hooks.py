"""Pages of the site that are not in docs/: those of the repository's root, and the measurements of benches/results.

In the files, links lead where the files are, so that they work in a checkout. Here they lead to the pages.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OF_ROOT = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"]


def on_files(files, config):
    results = sorted((ROOT / "benches/results").glob("*.md"))
    places = {name: ROOT / name for name in OF_ROOT if (ROOT / name).exists()} | {f"results/{path.name}": path for path in results}
    for name, path in places.items():
        if name not in files.src_uris:
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri in OF_ROOT:
        return re.sub(r"\]\((?:\./)?docs/", "](", markdown)
    if uri.startswith("results/"):
        return markdown.replace("](../../docs/", "](../")
    markdown = markdown.replace("](../benches/results/", "](results/")
    return re.sub(rf"\]\(\.\./({'|'.join(OF_ROOT)})", r"](\1", markdown)
