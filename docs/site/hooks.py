"""What mkdocs calls: pages that are made of the contracts, the properties and the commands themselves stand beside those that are written."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages to those of the folder."""
    for path, text in pages.all_pages().items():
        files.append(File.generated(config, path, content=text))
    return files
