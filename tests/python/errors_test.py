"""Errors: the section of docs/errors.md that explains one is named by its text, once."""

import pickle
import subprocess
import sys

import pytest
import unibuf
from unibuf.errors import by_code


@pytest.mark.parametrize("code", by_code)
def test_the_text_of_each_error_names_its_section(code):
    failure = by_code[code]("nothing works")
    assert failure.code == code
    assert failure.args == ("nothing works",)
    assert str(failure) == f"nothing works [unibuf explain {code}]"
    assert str(pickle.loads(pickle.dumps(failure))) == str(failure)


def test_an_error_around_another_one_names_its_own_section():
    inner = unibuf.OutOfRangeError("too far")
    assert str(unibuf.TransferFailedError(f"no way: {inner}")) == "no way: too far [unibuf explain transfer_failed]"


def test_an_error_of_the_library_has_its_message_alone():
    with pytest.raises(unibuf.InvalidArgumentError) as caught:
        unibuf.UnifiedBuffer(4).prefetch("nowhere")
    (message,) = caught.value.args
    assert message.startswith('"nowhere" is no name of a space') and "[unibuf" not in message
    assert str(caught.value) == f"{message} [unibuf explain invalid_argument]"


def test_an_error_within_another_one_is_told_without_its_section():
    with pytest.raises(unibuf.DeviceUnavailableError) as caught:
        unibuf.UnifiedBuffer(4).fill(1).__dlpack__(dl_device=(8, 99))
    assert caught.value.__cause__ is not None
    assert caught.value.args == caught.value.__cause__.args
    assert str(caught.value).count("[unibuf") == 1


def test_a_class_of_the_program_has_no_section():
    class OwnError(unibuf.UnibufError):
        pass

    assert str(OwnError("nothing works")) == "nothing works"


def test_the_tool_explains_it():
    run = subprocess.run([sys.executable, "-m", "unibuf", "explain", "timeout"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "LeaseTimeoutError" in run.stdout
