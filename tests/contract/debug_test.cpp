// tests/contract/debug_test.cpp: the device without hardware passes the suite. It shares nothing.
#include "contract/contract.hpp"

UNIBUF_BACKEND_CONTRACT(debug, "debug:0");
UNIBUF_BUFFER_CONTRACT(debug, "debug:0");
