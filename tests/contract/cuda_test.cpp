// tests/contract/cuda_test.cpp: CUDA passes the suite: the double, or with UNIBUF_REAL_CUDA=1 a real driver. What is
// special about it stands in the folder cuda.
#include "contract/cuda/fixture.hpp"

namespace unibuf::contract {
namespace {

class held_stream final : public held_queue {
public:
    explicit held_stream(space where) : by_(where), stream_(by_.stream()), closed_(by_, stream_) {}

    queue name() const override { return cuda::queue_of(stream_); }
    void set(const native_memory& to, std::byte value) override {
        by_.set(stream_, to.handle + to.offset, std::to_integer<unsigned char>(value), to.bytes);
    }
    void open() override { closed_.open(); }
    bool lets_the_host_go_on() const override { return driver::api().cuCtxRecordEvent; }

private:
    program by_;
    stream_handle stream_;
    gate closed_;
};

std::unique_ptr<held_queue> hold_queue(space where) { return std::make_unique<held_stream>(where); }

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(cuda, "cuda:0");
UNIBUF_QUEUED_CONTRACT(cuda, "cuda:0", [] { return unibuf::space("cuda:0"); }, hold_queue);
