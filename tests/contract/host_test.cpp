// tests/contract/host_test.cpp: the host's memory is memory like any other.
#include "contract/contract.hpp"

UNIBUF_BACKEND_CONTRACT(host, "host");
UNIBUF_CONTRACT_PART(constant_contract, host, "host_as_device", [] { return unibuf::host_as_device; });
UNIBUF_CONTRACT_PART(threads_contract, host, "host_as_device", [] { return unibuf::host_as_device; });
