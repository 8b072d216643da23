"""Which elements of an array an index names, where they are a rectangle, and how they lie."""

from operator import index as as_int
from typing import Any, NamedTuple

from .errors import InvalidArgumentError, OutOfRangeError


class Rectangle(NamedTuple):
    """Elements of an array."""

    extents: tuple[int, ...]  # of the array
    slices: tuple[tuple[int, int, int], ...]  # along each of its axes: start, stop, just behind the last, and step
    axes: tuple[int, ...]  # those that are left: no int took them away

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(range(*self.slices[axis])) for axis in self.axes)

    def strides(self, itemsize: int) -> tuple[int, ...]:
        pitches = row_major(self.extents, itemsize)
        return tuple(pitches[axis] * self.slices[axis][2] for axis in self.axes)

    def offset(self, itemsize: int) -> int:
        """The bytes before the first element."""
        pitches = row_major(self.extents, itemsize)
        return sum(pitch * start for pitch, (start, _, _) in zip(pitches, self.slices, strict=True))

    def indexed(self, index: Any) -> "Rectangle":
        """The elements of this one that an index names. Raises OutOfRangeError, InvalidArgumentError, TypeError."""
        slices, left = list(self.slices), []
        for place, (axis, each) in enumerate(zip(self.axes, _for_each_axis(index, len(self.axes)), strict=True)):
            start, stop, step = slices[axis]
            extent = len(range(start, stop, step))
            if isinstance(each, slice):
                found = _indices(each, place, extent)
                left.append(axis)
            else:
                at = _place(each, place, extent)
                found = range(at, at + 1)
            last = found[-1] if found else found.start - 1
            slices[axis] = (start + found.start * step, start + last * step + 1, step * found.step)
        return Rectangle(self.extents, tuple(slices), tuple(left))


def whole(shape: tuple[int, ...]) -> Rectangle:
    return Rectangle(shape, tuple((0, extent, 1) for extent in shape), tuple(range(len(shape))))


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array whose elements follow each other."""
    steps = [itemsize]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * extent)
    return tuple(reversed(steps))[len(steps) - len(shape) :]


def follow_each_other(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    each = zip(shape, strides, row_major(shape, itemsize), strict=True)
    return 0 in shape or all(extent == 1 or stride == pitch for extent, stride, pitch in each)


def _for_each_axis(index: Any, axes: int) -> list[Any]:
    given = list(index) if isinstance(index, tuple) else [index]
    gaps = [place for place, each in enumerate(given) if each is Ellipsis]
    if len(gaps) > 1:
        raise OutOfRangeError(f"an index has one ellipsis ('...') at most; {len(gaps)} were given")
    missing = axes - len(given) + len(gaps)
    if missing < 0:
        raise OutOfRangeError(f"{len(given) - len(gaps)} indices were given for {axes} axes")
    place = gaps[0] if gaps else len(given)
    return given[:place] + [slice(None)] * missing + given[place + len(gaps) :]


def _indices(along: slice, axis: int, extent: int) -> range:
    step = 1 if along.step is None else as_int(along.step)
    if step < 1:
        raise InvalidArgumentError(
            f"a step of {step} along axis {axis} was asked for: views have steps of 1 or more, arrays of `host` others"
        )
    return range(*along.indices(extent))


def _place(index: Any, axis: int, extent: int) -> int:
    is_number = hasattr(index, "__index__") and not isinstance(index, bool) and not getattr(index, "shape", ())
    if not is_number:
        raise TypeError(
            f"a view takes ints, slices and '...'; {type(index).__name__} was given: arrays of `host` take others"
        )
    at = as_int(index)
    if not -extent <= at < extent:
        raise OutOfRangeError(f"index {at} is out of bounds for axis {axis} with size {extent}")
    return at % extent
