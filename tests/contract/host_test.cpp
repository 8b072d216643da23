// tests/contract/host_test.cpp: the host's memory is memory like any other.
#include "contract/contract.hpp"

UNIBUF_BACKEND_CONTRACT(host, "host");
