"""The Python snippets of documents: fenced ones as they are; those of plain text, which has lost their indentation, by
way of the fenced ones that they are renderings of."""

import ast
import re

FENCED = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _bare(line):
    return " ".join(line.split())


def _bare_lines(code):
    return [_bare(line) for line in code.splitlines() if line.strip()]


def _is_statement(line):
    """Whether a line of text can only be code: an import, an assignment, a call, a comment."""
    try:
        body = ast.parse(line).body
    except SyntaxError:
        return False
    plain = all(
        isinstance(each, ast.Import | ast.ImportFrom | ast.Assign | ast.AugAssign)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
        for each in body
    )
    return plain and (bool(body) or line.startswith("# "))


def _from_text(text, fenced):
    known = {line for code in fenced for line in _bare_lines(code)}
    by_lines = sorted(((_bare_lines(code), code) for code in fenced), key=lambda each: -len(each[0]))
    runs, run = [], []
    for line in (*map(_bare, text.splitlines()), "the end"):
        if line in known or _is_statement(line):
            run.append(line)
        elif line and run:
            runs.append(run)
            run = []
    for run in runs:
        left = []
        while run:
            for lines, code in by_lines:
                if lines == run[: len(lines)]:
                    if left:
                        yield "\n".join(left)
                    left, run = [], run[len(lines) :]
                    yield code
                    break
            else:
                left.append(run.pop(0))
        if left:
            yield "\n".join(left)


def snippets(folder):
    """(name of the document, number of the snippet, code) of all documents but those of Fortran."""
    texts = {path.name: path.read_text() for path in sorted(folder.glob("*.txt"))}
    texts = {name: text for name, text in texts.items() if "```fortran" not in text}
    fenced = {name: FENCED.findall(text) for name, text in texts.items()}
    every_fenced = [code for codes in fenced.values() for code in codes]
    for name, text in texts.items():
        for number, code in enumerate(fenced[name] or _from_text(text, every_fenced)):
            yield name, number, code
