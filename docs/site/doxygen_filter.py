#!/usr/bin/env python3
"""doxygen_filter.py HEADER: prints the header as Doxygen should read it, which knows only comments of three slashes.

A comment at the end of a line becomes its member's; one over declarations that follow each other, that of each of
them. What a namespace of C++ has is a group, and so is what follows a line `// ---- Title ---`: pages show groups. A
struct or enum of C, whose typedef has the same name, is declared once.
"""

import re
import sys
from pathlib import Path

SECTION = re.compile(r"// ---- (.*?) -+$")
COMMENT = re.compile(r"( *)//(?!/) ?(.*)$")
TYPEDEF = re.compile(r"^typedef (struct |UNIBUF_C_ENUM\()(\w+)\)? ?\{")
KEYWORD = {"struct ": "struct", "UNIBUF_C_ENUM(": "enum"}
NAMED_END = re.compile(r"\} unibuf_\w+;$")
MEMBER = re.compile(r"    (?![ /]).*?\b(\w+)\(")
OF_ELEMENTS = ("unified_buffer.hpp", "rectangle.hpp")  # what buffer has, by elements
# Doxygen takes host() for the constant, unless it is told whose it is.
CALL = re.compile(r"(?<![\w:])(host|device)\(\)")
TRAILING = re.compile(r"( *[^ #}/].*?\S) +// (.*)$")


def group_of(header, title=""):
    """The name of a group, which pages refer to."""
    return re.sub(r"\W+", "_", f"{header} {title}".lower()).rstrip("_")


def sections(header):
    return [found[1] for line in header.read_text().splitlines() if (found := SECTION.match(line))]


def members_of(header):
    return {found[1] for line in header.read_text().splitlines() if (found := MEMBER.match(line))}


def filtered(header):
    members = members_of(header.with_name("buffer.hpp")) if header.name in OF_ELEMENTS else ()
    has_comment = False  # whether the line before is one
    shared, used = [], False  # what a comment says of all declarations up to an empty line; whether there was one
    begins = True  # whether the next line begins a declaration
    open_group = False
    lines = header.read_text().splitlines()
    lead = next(number for number, line in enumerate(lines) if not line.startswith("//"))
    for line in lines[lead:]:
        if section := SECTION.match(line):
            yield "/// @}" if open_group else ""
            yield f"/// \\defgroup {group_of(header.name, section[1])} {section[1]}\n/// @{{"
            open_group = True
        elif line == "#pragma once" and header.suffix == ".h":
            yield f"/// \\defgroup {group_of(header.name)} {header.name}\n/// @{{"
            open_group = True
        elif line.startswith("namespace unibuf"):
            yield f"{line}\n/// \\defgroup {group_of(header.name)} {header.name}\n/// @{{"
        elif line.startswith("}  // namespace unibuf"):
            yield f"/// @}}\n{line}"
        elif (comment := COMMENT.match(line)) and len(comment[1]) > 4:
            yield f"{comment[1]}///< {comment[2]}"
        elif comment:
            shared, used = [] if used else shared, False
            shared.append(f"{comment[1]}/// {comment[2]}")
        elif not line:
            yield "\n".join([] if used or not shared else [*shared, shared[0].partition("/")[0] + "///"])
            shared, used, begins = [], False, True
        else:
            indent = len(line) - len(line.lstrip())
            if shared and begins and indent == shared[0].index("/") and not re.match(r" *(\}|private:)", line):
                yield from shared
                used = True
            elif begins and indent == 4 and not has_comment and (found := MEMBER.match(line)) and found[1] in members:
                yield f"    /// See buffer::{found[1]}()."
            has_comment = line.lstrip().startswith("///")
            if indent <= 4:
                begins = bool(re.search(r"[;}]( +//.*)?$", line))
            yield TYPEDEF.sub(
                lambda found: f"{KEYWORD[found[1]]} {found[2]} {{",
                TRAILING.sub(r"\1  ///< \2", NAMED_END.sub("};", line)),
            )
    yield "/// @}" if open_group else ""


if __name__ == "__main__":
    for line in "\n".join(filtered(Path(sys.argv[1]))).splitlines():
        code, mark, comment = line.partition("///")
        print(code, mark, CALL.sub(r"buffer::\1()", comment), sep="")
