// tests/contract/metal_test.cpp: Metal passes the suite: the double, or on macOS the real one.
#include "contract/metal_fixture.hpp"

namespace unibuf::contract {
namespace {

std::unique_ptr<held_queue> hold_queue(space where) { return std::make_unique<held_metal_queue>(where); }

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(metal, "metal:0");
UNIBUF_QUEUED_CONTRACT(metal, "metal:0", [] { return unibuf::space("metal:0"); }, hold_queue);
