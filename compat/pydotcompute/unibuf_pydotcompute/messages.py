"""What goes from task to task: small records that name a buffer instead of carrying one."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from .exceptions import MessageError

T = TypeVar("T")


def message(kind: type[T]) -> type[T]:
    """Makes a class a message; it becomes a dataclass if it is none yet."""
    is_one = "__dataclass_fields__" in kind.__dict__  # a class made from one has fields of its own to add
    made = kind if is_one else dataclasses.dataclass(kind)
    made.__is_message__ = True  # type: ignore[attr-defined]
    return made


def check(value: Any) -> None:
    """Raises MessageError for what is no message, and for one that carries array data."""
    if not getattr(type(value), "__is_message__", False):
        raise MessageError(f"{type(value).__name__} is no message: mark the class with @message")
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if hasattr(content, "__array__") or hasattr(content, "__dlpack__"):
            raise MessageError(
                f"{type(value).__name__}.{field.name} carries an array: send the id of a buffer, an offset and a size"
            )
