"""Operators of a buffer: they leave to the other operand what arrays leave to it, and compare what arrays compare."""

import operator

import numpy as np
import pytest
from unibuf import AccessConflictError, UnifiedBuffer, set_default_device

CONTENT = np.arange(9, dtype=np.float64).reshape(3, 3)
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv, operator.floordiv, operator.mod),
    *(divmod, operator.pow, operator.lshift, operator.rshift, operator.and_, operator.xor, operator.or_),
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
REFLECTED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__"}


def filled():
    return UnifiedBuffer((3, 3), np.float64).copy_from(CONTENT)


@pytest.mark.parametrize(
    "of, other",
    [
        ((3, 3), (3, 3)),
        ((3,), (3, 3)),
        ((2, 3, 3), (3, 3)),
        ((2, 3, 3), (2, 3, 3)),
        ((3, 3), (3,)),
        ((3,), (3,)),
        ((3, 3), (3, 2)),
        ((), (3, 3)),
        ((3, 3), ()),
    ],
)
def test_a_matrix_product_in_place_is_an_arrays(of, other):
    array, by = np.arange(np.prod(of), dtype=float).reshape(of), np.arange(np.prod(other), dtype=float).reshape(other)
    buffer = UnifiedBuffer(of, np.float64).copy_from(array)
    try:
        array @= by
    except ValueError:
        with pytest.raises(ValueError):
            buffer @= by
    else:
        buffer @= by
        buffer @= np.eye(3)
    assert buffer.to_numpy().tolist() == array.tolist()


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:the matrix subclass")
@pytest.mark.parametrize("op", [operator.mul, operator.truediv, operator.floordiv, operator.eq])
def test_arrays_of_classes_with_operators_of_their_own_use_them(op):
    for other in (np.matrix(CONTENT + 1), np.ma.array(CONTENT, mask=np.eye(3)), CONTENT.view(np.recarray)):
        for expected, given in ((op(CONTENT, other), op(filled(), other)), (op(other, CONTENT), op(other, filled()))):
            assert type(given) is type(expected) and repr(given) == repr(expected)


@pytest.mark.parametrize("device", ["host", "debug:0"])
def test_warnings_name_the_line_of_the_program(device):
    set_default_device(device)
    b = filled()
    for compute in (lambda: b / 0, lambda: 1 / b, lambda: np.log(b), lambda: np.divide(b, 0, out=b), lambda: b // b):
        with pytest.warns(RuntimeWarning) as told:
            compute()
        assert {each.filename for each in told} == {__file__}
        b.copy_from(CONTENT)
    set_default_device("host")


class Own(UnifiedBuffer):
    """A class with a word of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return "own", ufunc.__name__

    def __mul__(self, other):
        return "product"


def test_a_class_made_from_it_has_its_own_operators():
    own = Own(3, np.float64).fill(1)
    assert (own + 1, 1 + own, own * 2, -own) == (("own", "add"), ("own", "add"), "product", ("own", "negative"))
    assert filled() + own == ("own", "add") and np.exp(own) == ("own", "exp")


def test_what_is_computed_into_a_part_of_an_operand_is_that_of_arrays():
    b, array = filled(), CONTENT.copy()
    part, its = b.view[1:], array[1:]
    part += b.view[:2]
    its += array[:2]
    assert np.array_equal(b.to_numpy(), array)
    np.add(b.view[0], b.view[1], out=b.view[2])
    np.add(array[0], array[1], out=array[2])
    assert np.array_equal(b.to_numpy(), array)
    given = np.empty((3, 3))
    assert np.add(b, b, out=given) is given and np.array_equal(given, 2 * array)


def test_no_lease_is_left_where_numpy_refuses():
    b, ints = filled(), UnifiedBuffer(3, np.int64).fill(1)
    for refused in (lambda: b + np.ones(5), lambda: b + "text", lambda: np.add(ints, 1.5, out=ints), lambda: b << 1):
        with pytest.raises((TypeError, ValueError)):
            refused()
    with b.write("host"), ints.write("host"):
        with pytest.raises(AccessConflictError):
            _ = b + 1
        with pytest.raises(AccessConflictError):
            _ = np.ones((3, 3)) * b
    b.free()
    ints.free()


def name_of(op, prefix=""):
    return f"__{prefix}{op.__name__.strip('_')}__"


def told(name):
    return lambda self, other: (name, type(self).__name__)


NAMES = [name_of(op, "r") for op in BINARY] + [name_of(op) for op in COMPARISONS]
Prior = type("Prior", (), {"__array_priority__": 1000, **{name: told(name) for name in NAMES}})
Apart = type("Apart", (), {"__array_ufunc__": None, **{name: told(name) for name in NAMES}})
Lower = type("Lower", (), {"__array_priority__": -1, "__radd__": told("__radd__")})
Silent = type("Silent", (), {"__array_priority__": 1000, "__add__": lambda self, _: NotImplemented})


@pytest.mark.parametrize("other", [Prior, Apart])
@pytest.mark.parametrize("op", BINARY + COMPARISONS, ids=lambda op: op.__name__)
def test_an_operator_is_left_to_whom_an_array_leaves_it(op, other):
    expected = op(CONTENT, other())
    assert expected[1] == other.__name__
    assert op(filled(), other()) == expected


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_so_is_an_operator_in_place(op):
    b = filled()
    assert op(b, Prior()) == op(CONTENT.copy(), Prior())
    with pytest.raises(TypeError, match="does not support ufuncs"):
        op(b, Apart())
    assert (b.host == CONTENT).all()


def test_who_has_no_method_or_a_lower_priority_is_an_element_as_in_an_array():
    for other in (Lower(), Silent(), object()):
        for left, right in ((CONTENT, filled()), (other, other)), ((other, other), (CONTENT, filled())):
            results = []
            for one, another in zip(left, right, strict=True):
                try:
                    results.append((one + another).tolist())
                except TypeError as failure:
                    results.append(str(failure))
            assert results[0] == results[1]


def test_sparse_matrices_of_scipy(device):
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    e, b = sparse.csr_array(np.eye(3)), filled()
    for op in (operator.add, operator.sub, operator.mul, operator.matmul):
        for result, expected in ((op(b, e), op(CONTENT, e)), (op(e, b), op(e, CONTENT))):
            assert type(result) is type(expected)
            dense, content = (each.toarray() if sparse.issparse(each) else each for each in (result, expected))
            assert dense.dtype == content.dtype and (dense == content).all()


@pytest.mark.parametrize("other", ["x", b"x", ["x"], None, object(), {}, np.array(["x", "y", "z"])], ids=repr)
def test_what_no_number_equals_is_unequal(other, device):
    b = filled()
    for op in (operator.eq, operator.ne):
        result, expected = op(b, other), op(CONTENT, other)
        assert type(result) is type(expected) and result.dtype == expected.dtype and (result == expected).all()
    with pytest.raises(TypeError):
        _ = b < other


def test_elements_with_fields_are_compared_as_those_of_arrays():
    content = np.array([(1, 2.0), (3, 4.0)], [("a", "u1"), ("b", "f8")])
    b = UnifiedBuffer(2, content.dtype).copy_from(content)
    assert (b == content).all() and (b == b).all() and not (b != content).any()
    assert ((b == content[0]) == (content == content[0])).all()
