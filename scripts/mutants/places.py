"""Finds where a C++ source can be changed, by libclang.

A mutant changes one place in one way. Comments, strings, includes, macros, static assertions, orders of memory and what
an error says are left alone, and so is all that the compiler computes: constants, sizes of arrays, `if constexpr`.
"""

import bisect
import dataclasses
import re
import subprocess

import clang.cindex as clang

OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*=",
    "&": "|", "|": "&", "^": "|", "&=": "|=", "|=": "&=", "^=": "|=", "<<": ">>", ">>": "<<", "<<=": ">>=",
    ">>=": "<<=", "&&": "||", "||": "&&",
}  # fmt: skip
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")

Kind = clang.CursorKind
FUNCTIONS = (Kind.CXX_METHOD, Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR, Kind.DESTRUCTOR,
             Kind.CONVERSION_FUNCTION)  # fmt: skip
LEFT_ALONE = (Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.CXX_THROW_EXPR, Kind.MACRO_INSTANTIATION, Kind.MACRO_DEFINITION,
              Kind.INCLUSION_DIRECTIVE, Kind.TYPE_ALIAS_DECL, Kind.TYPE_REF, Kind.TEMPLATE_TYPE_PARAMETER,
              Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.CXX_NEW_EXPR)  # fmt: skip
NAMES = (Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR)  # whose numbers are arguments of templates
OPERATIONS = (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.CALL_EXPR, Kind.UNEXPOSED_EXPR)
BLOCKS = (Kind.COMPOUND_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NUMBER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)$")


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # relative to the tree
    begin: int  # offsets of the place
    end: int
    kind: str
    text: str  # in the place's stead
    function: str
    line: int
    before: str  # the lines of the place, as one
    after: str
    computed: bool  # in a function that the compiler may run
    form: str  # "value", "truth", "statement", or the type of a constant

    @property
    def key(self):
        return f"{self.file}:{self.begin}:{self.end}:{self.kind}"


def one_line(text):
    return " ".join(COMMENT.sub(" ", text).split())


class Finder:
    """Finds the mutants of one file. Offsets are of characters: the sources are ASCII, or they are refused."""

    def __init__(self, file, path, arguments):
        self.file = file
        self.source = open(path, encoding="ascii").read()
        self.starts = [0] + [found.end() for found in re.finditer("\n", self.source)]
        self.found = {}
        unit = clang.Index.create().parse(path, arguments, options=1)  # with macros
        errors = [str(each) for each in unit.diagnostics if each.severity >= clang.Diagnostic.Error]
        if errors:
            raise RuntimeError("libclang does not understand " + path + ":\n" + "\n".join(errors[:5]))
        self.path = path
        here = [each for each in unit.cursor.get_children() if self.is_here(each)]
        self.macros = [self.range(each) for each in here if each.kind == Kind.MACRO_INSTANTIATION]
        for each in here:
            self.visit(each, unit.cursor, "", False)

    def is_here(self, cursor):
        """Returns whether it is of this file: a constructor has the initializers of members, which are the header's."""
        return cursor.location.file is not None and cursor.location.file.name == self.path

    def range(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, cursor):
        begin, end = self.range(cursor)
        return self.source[begin:end]

    def add(self, place, kind, text, form="value"):
        begin, end = place
        if begin >= end or any(begin < last and first < end for first, last in self.macros):
            return
        line = bisect.bisect_right(self.starts, begin)
        first = self.starts[line - 1]
        last = self.source.find("\n", end)
        last = len(self.source) if last < 0 else last
        before = one_line(self.source[first:last])
        after = one_line(self.source[first:begin] + text + self.source[end:last])
        made = Mutant(self.file, begin, end, kind, text, self.function, line, before, after, self.computed, form)
        self.found.setdefault(made.key, made)

    def visit(self, cursor, parent, function, computed):
        kind = cursor.kind
        if kind == Kind.CALL_EXPR and cursor.spelling.startswith("__builtin_"):
            return  # it may want constants
        if kind in LEFT_ALONE or self.is_message(cursor) or self.is_constant(cursor, parent):
            return
        if kind in FUNCTIONS:
            inside = cursor.semantic_parent
            function = cursor.spelling
            if inside.kind in (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE):
                function = inside.spelling + "::" + function
            head = self.text(cursor).split("{")[0]
            if re.search(r"=\s*def", head):
                return  # what the compiler writes has no place
            computed = re.search(r"\b(constexpr|consteval)\b", head) is not None
        elif kind in (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE):
            function = cursor.spelling
            computed = True  # an initializer of a member may be that of a constant
        self.function, self.computed = function, computed
        self.statement(cursor, parent)
        self.operators(cursor)
        self.conditions(cursor)
        self.constants(cursor, parent)
        for each in cursor.get_children():
            if self.is_here(each) and (kind != Kind.CASE_STMT or each.kind != Kind.INTEGER_LITERAL):
                self.visit(each, cursor, function, computed)

    def is_message(self, cursor):
        """Returns whether this makes text: that of an error, or one for readers."""
        if cursor.kind in (Kind.CALL_EXPR, Kind.UNEXPOSED_EXPR):
            name = cursor.type.get_canonical().spelling
            return "basic_string<" in name or name in ("unibuf::error", "const unibuf::error")
        return False

    def is_constant(self, cursor, parent):
        if cursor.kind != Kind.VAR_DECL:
            return False
        head = self.source[self.range(cursor)[0] : cursor.location.offset]
        return "constexpr" in head or "constinit" in head or parent.kind == Kind.NAMESPACE

    def statement(self, cursor, parent):
        """A call or an assignment whose value nobody uses can be left out."""
        begin, end = self.range(cursor)
        if not cursor.kind.is_expression() or not self.source[end:].lstrip().startswith(";"):
            return
        before = COMMENT.sub(" ", self.source[max(0, begin - 400) : begin]).rstrip()
        stands_alone = parent.kind in BLOCKS or before.endswith((")", "else"))
        if not stands_alone or parent.kind in (Kind.RETURN_STMT, Kind.DECL_STMT, Kind.VAR_DECL):
            return
        inner = cursor
        while inner.kind == Kind.UNEXPOSED_EXPR and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        operator = self.operator(inner)
        is_call = inner.kind == Kind.CALL_EXPR and operator is None
        if is_call or operator in ASSIGNMENTS:
            self.add((begin, end), "call removed" if is_call else "assignment removed", "", "statement")

    def operands(self, cursor):
        if cursor.kind not in OPERATIONS:
            return None
        begin, end = self.range(cursor)
        inside = [self.range(each) for each in cursor.get_children()]
        inside = [each for each in inside if each[0] < each[1]]
        if len(inside) < 2 or inside[0][0] != begin or inside[-1][1] != end or inside[0][1] > inside[-1][0]:
            return None
        return inside[0], inside[-1]

    def operator(self, cursor):
        both = self.operands(cursor)
        if not both:
            return None
        text = one_line(self.source[both[0][1] : both[1][0]])
        return text if text in OTHER or text in ASSIGNMENTS else None

    def operators(self, cursor):
        begin, end = self.range(cursor)
        operator = self.operator(cursor)
        if operator in OTHER:
            left, right = self.operands(cursor)
            kind = "comparison" if operator in COMPARISONS else "logic" if operator in ("&&", "||") else "arithmetic"
            other = OTHER[operator]
            text = f"{self.source[begin : left[1]]} {other} {self.source[right[0] : end]}"
            text = f"({text})" if kind == "logic" else text  # it may stand among others
            self.add((begin, end), f"{kind} {operator} to {other}", text)
        elif cursor.kind == Kind.UNARY_OPERATOR or cursor.kind == Kind.CALL_EXPR:
            text = self.source[begin:end]
            if cursor.kind == Kind.CALL_EXPR and not cursor.spelling.startswith("operator"):
                return
            if text.startswith(("++", "--")):
                other = "--" if text.startswith("++") else "++"
                self.add((begin, end), f"arithmetic {text[:2]} to {other}", other + text[2:])
            elif text.endswith(("++", "--")):
                other = "--" if text.endswith("++") else "++"
                self.add((begin, end), f"arithmetic {text[-2:]} to {other}", text[:-2] + other)
            elif text.startswith("!") and not text.startswith("!="):
                self.add((begin, end), "logic ! dropped", text[1:].lstrip(), "truth")
            elif text.startswith(("~", "-")) and cursor.kind == Kind.UNARY_OPERATOR:
                self.add((begin, end), f"arithmetic {text[0]} dropped", text[1:].lstrip())

    def conditions(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind == Kind.CONDITIONAL_OPERATOR:
            self.both_truths(self.range(children[0]), "condition")
        elif cursor.kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.FOR_STMT):
            place = self.condition_of(cursor)
            if place and place in [self.range(each) for each in children if each.kind.is_expression()]:
                endless = cursor.kind != Kind.IF_STMT  # with true
                self.both_truths(place, "condition", ("false",) if endless else ("true", "false"))
        elif cursor.kind == Kind.RETURN_STMT and children:
            if children[0].type.get_canonical().kind == clang.TypeKind.BOOL:
                self.both_truths(self.range(children[0]), "return")

    def condition_of(self, cursor):
        """Returns the place of a statement's condition, between its parentheses; None where there is no plain one."""
        begin, end = self.range(cursor)
        opening = self.source.index("(", begin)
        if "constexpr" in self.source[begin:opening]:
            return None
        depth, parts = 0, [opening + 1]
        for at in range(opening, end):
            depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(self.source[at], 0)
            if depth == 1 and self.source[at] == ";":
                parts.append(at + 1)
            if depth == 0:
                parts.append(at + 1)
                break
        number = 1 if cursor.kind == Kind.FOR_STMT else len(parts) - 2
        if cursor.kind == Kind.FOR_STMT and len(parts) != 4:
            return None
        first, last = parts[number], parts[number + 1] - 1
        text = self.source[first:last]
        return first + len(text) - len(text.lstrip()), first + len(text.rstrip())

    def both_truths(self, place, what, values=("true", "false")):
        if self.source[place[0] : place[1]] in ("true", "false"):
            return  # a constant
        for value in values:
            self.add(place, f"{what} {value}", value, "truth")

    def constants(self, cursor, parent):
        if parent.kind in NAMES or (parent.kind == Kind.VAR_DECL and parent.type.kind == clang.TypeKind.CONSTANTARRAY):
            return
        place = self.range(cursor)
        text = self.source[place[0] : place[1]]
        if cursor.kind == Kind.CXX_BOOL_LITERAL_EXPR:
            self.add(place, "constant", "false" if text == "true" else "true", "bool")
        elif cursor.kind == Kind.INTEGER_LITERAL and NUMBER.match(text):
            number, suffix = NUMBER.match(text).groups()
            value = int(number.replace("'", ""), 0) if number.strip("0'") else 0
            whole = parent.kind == Kind.UNEXPOSED_EXPR and self.range(parent) == place
            type_of = (parent if whole else cursor).type.get_canonical()
            is_number = clang.TypeKind.BOOL.value <= type_of.kind.value <= clang.TypeKind.INT128.value
            name = type_of.spelling.removeprefix("const ")
            self.add(place, "constant", f"{value + 1}{suffix}", name if is_number else "value")


def arguments_for(root):
    """Returns what libclang needs to read sources of the tree as GCC does."""
    headers = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout
    return ["-x", "c++", "-std=c++20", f"-I{root}/src", f"-I{root}/include", "-isystem", headers.strip(), "-w"]


def find(root, file):
    found = Finder(file, f"{root}/{file}", arguments_for(root)).found.values()
    return sorted(found, key=lambda each: (each.begin, each.end, each.kind))
