"""`python -m scripts.docs SITE [ROOT]`: build the site of a repository. A broken link is an error."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scripts.docs.stage import stage
from sphinx.cmd.build import main

HERE = Path(__file__).parent


def build(site: Path, root: Path) -> int:
    """Sphinx's exit code. The site is there only if it is 0."""
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        pages, made = Path(folder, "pages"), Path(folder, "made")
        pages.mkdir()
        stage(root, pages)
        options = ("--quiet", "--fail-on-warning", "--keep-going", "-b", "html", "-d", f"{folder}/cache")
        if code := main([*options, "-c", str(HERE), str(pages), str(made)]):
            return code
        shutil.copyfile(made / "README.html", made / "index.html")
        shutil.copytree(made, site)
    print(site / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else HERE.parents[1]))
