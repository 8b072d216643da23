"""Writes all mutants of a source into it, so that it is compiled once: at run time a number chooses one of them.

Each changed expression is on a line of its own, which a comment marks, so that it is known which one the compiler
refuses.
"""

import re

MARK = re.compile(r"/\*mutant (\d+)\*/")


class Place:
    def __init__(self, begin, end):
        self.begin, self.end, self.mutants, self.inner = begin, end, [], []


def places_of(numbered, length):
    """Returns the file as a place that has all others, each inside the smallest one around it."""
    root = Place(0, length)
    around = [root]
    for number, mutant in sorted(numbered.items(), key=lambda each: (each[1].begin, -each[1].end, each[0])):
        while mutant.begin >= around[-1].end:
            around.pop()
        last = around[-1]
        if (mutant.begin, mutant.end) == (last.begin, last.end):
            last.mutants.append((number, mutant))
            continue
        if mutant.end > last.end:
            raise RuntimeError(f"{mutant.file}:{mutant.line}: two places overlap: {mutant.before}")
        made = Place(mutant.begin, mutant.end)
        made.mutants.append((number, mutant))
        last.inner.append(made)
        around.append(made)
    return root


def text_of(place, source):
    text, at = "", place.begin
    for each in place.inner:
        text += source[at : each.begin] + text_of(each, source)
        at = each.end
    text += source[at : place.end]
    if not place.mutants:
        return text
    forms = {mutant.form for _, mutant in place.mutants}
    types = forms - {"statement", "truth", "value"}
    cast = "void" if "statement" in forms else "bool" if "truth" in forms else types.pop() if types else None
    begin = f"static_cast<{cast}>(" if cast else "("
    arms = ""
    for number, mutant in place.mutants:
        changed = " ".join(re.sub(r"//[^\n]*", " ", mutant.text).split()) or "0"
        asked = "is_run" if mutant.computed else "is"
        arms += f"\n/*mutant {number}*/ unibuf_mutants::{asked}({number}) ? {begin}{changed}) :"
    return f"({arms}\n{begin}{text}))"


def rewritten(source, numbered):
    """Returns the source with these mutants, a dictionary by number."""
    return '#include "unibuf_mutants.hpp"\n' + text_of(places_of(numbered, len(source)), source)
