"""What the checks of C++ share: finding the files, and reading past comments and strings."""

import re

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}

_TOKEN = re.compile(
    r"""
    # Kept: an include's path, and a number, whose ' would otherwise open a character literal.
    (?P<kept> ^[ \t]*\#[ \t]*include\b[^\n]* | \b\d(?:'?[\w.])* )
    | //(?:\\\n|[^\n])*
    | /\*.*?\*/
    | R"(?P<mark>[^()\\\s"]*)\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | '(?:\\.|[^'\\\n])+'
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


def blank(text):
    """Returns `text` with comments, strings and characters as spaces; positions do not move."""
    return _TOKEN.sub(lambda m: m[0] if m["kept"] else re.sub(r"[^\n]", " ", m[0]), text)


def files(folder):
    """The C++ files below `folder`, in a stable order; none when there is no such folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)


def line_of(text, position):
    return text.count("\n", 0, position) + 1
