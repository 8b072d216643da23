# What nanobind's stub of unibuf._native says of functions that are made without nanobind.

unibuf._native.Access.__getattribute__:

unibuf._native.Access.__getitem__:

unibuf._native.Views.__.*__:

unibuf._native.Buffer.__([ri]?(add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|lshift|rshift|and|xor|or)|neg|pos|abs|invert|lt|le|eq|ne|gt|ge|hash|array_ufunc)__:

unibuf._native.StandingHold.resume:
    def resume(self) -> None:
        \doc

unibuf._native.StandingHold.pause:
    def pause(self) -> None:
        \doc
