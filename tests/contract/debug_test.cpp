// tests/contract/debug_test.cpp: the device without hardware passes the suite.
#include "contract/contract.hpp"

UNIBUF_CONTRACT(debug, "debug:0");
