// tests/contract/host_test.cpp: the host passes the suite.
#include "contract/contract.hpp"

UNIBUF_CONTRACT(host, "host");
