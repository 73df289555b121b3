#!/usr/bin/env python3
"""Writes a manual page of section 3 for each function of the C headers.

    cmake/man3.py INCLUDE VERSION OUTPUT

A function's page is what stands in front of it in a header of the folder INCLUDE. Standard library only.
"""

import re
import sys
from pathlib import Path

FUNCTION = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*(BLOSC_EXPORT\s[^;{]*?\b([a-z]\w+)\([^;{]*\)[^;{]*;)", re.S)
# What a function returns may be the last of a paragraph.
RETURNS = re.compile(r"(?:^|(?<=[.)])\s)(?=Returns\s)")


def roff(text):
    """Text with its code in bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fP", text)
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def paragraphs(comment):
    """Its sections: the description, what it returns, and what is required of the caller."""
    sections = {"DESCRIPTION": [], "RETURN VALUE": [], "REQUIRED OF THE CALLER": []}
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip().split("\n")]
    for paragraph in "\n".join(line.removeprefix("* ") for line in lines).split("\n\n"):
        paragraph, _, required = paragraph.partition("Required of the caller:\n")
        text, *returns = RETURNS.split(paragraph, maxsplit=1)
        for section, part in zip(sections, [text, "".join(returns), required]):
            if part:
                sections[section].append(part)
    return sections


def listed(paragraph):
    """A paragraph, or a list of which each item begins with a dash."""
    if not paragraph.startswith("- "):
        return ".PP\n" + roff(paragraph)
    items = re.split(r"^- ", paragraph, flags=re.M)[1:]
    return "\n".join(".IP \\(bu 2\n" + roff(re.sub(r"\n +", "\n", item.strip())) for item in items)


def page(header, version, comment, declaration, name):
    sections = paragraphs(comment)
    everything = sections["DESCRIPTION"] or sections["RETURN VALUE"]
    brief = re.split(r"(?<=\w[.:)])\s", everything[0].replace("\n", " "))[0].rstrip(".:")
    declaration = re.sub(r"^BLOSC_EXPORT\s+(B2ND_DEPRECATED\(.*?\)\s+)?", "", declaration)
    out = [
        f'.TH {name} 3 "" "oxiblosc {version}" "Blosc2"',
        ".SH NAME",
        f"{name} \\- {roff(brief.replace('`', ''))}",
        ".SH SYNOPSIS",
        f".B #include <{header}>\n.PP\n.nf\n{roff(declaration)}\n.fi",
    ]
    for title, found in sections.items():
        if found:
            out.append(f".SH {title}")
            out.extend(map(listed, found))
    return "\n".join(out) + "\n"


def main():
    include, version, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(include.rglob("*.h")):
        header = path.relative_to(include).as_posix()
        for comment, declaration, name in FUNCTION.findall(path.read_text()):
            (output / f"{name}.3").write_text(page(header, version, comment, declaration, name))


if __name__ == "__main__":
    main()
