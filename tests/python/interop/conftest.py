"""Libraries that are large, or that only some machines have."""

import pytest
import unibuf


@pytest.fixture
def cuda():
    """The first CUDA device."""
    try:
        return unibuf.get_accelerator("cuda:0").space
    except unibuf.DeviceUnavailableError as missing:
        pytest.skip(str(missing))
