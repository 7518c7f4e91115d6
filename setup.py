"""The distribution's description is the README, with links that lead somewhere outside this folder."""

import re
from pathlib import Path

from setuptools import setup

SITE, FILES = "https://fairpot.github.io/fairpot/", "https://github.com/fairpot/fairpot/blob/main/"
RAW = "https://raw.githubusercontent.com/fairpot/fairpot/main/"


def absolute(link: str) -> str:
    """Turn a link inside the repository into an address: of a picture, of a page of the site, or of a file."""
    if link.startswith(("http", "#")):
        return link
    if link.endswith((".png", ".svg")):
        return RAW + link
    page = re.fullmatch(r"docs/(.+)\.md", link)
    return f"{SITE}{page[1]}.html" if page else FILES + link


def described() -> str:
    """Give the README with addresses in the place of relative links."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(?<=\]\()([^)\s]+)(?=\))", lambda found: absolute(found[1]), text)
    return re.sub(r"(?m)(?<=\]: )(\S+)$", lambda found: absolute(found[1]), text)


if __name__ == "__main__":
    setup(long_description=described(), long_description_content_type="text/markdown")
