// bench/cost/c.cpp: calls of the C API.
#include <unibuf/unibuf.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "count.hpp"
#include "operation.hpp"

namespace cost::c {
namespace {

void check(unibuf_status status) {
    if (status != UNIBUF_OK) throw std::runtime_error(unibuf_message());
}

/// A buffer that is current at the host and at debug:0, the default device.
class buffer {
public:
    buffer() {
        unibuf_space debug = UNIBUF_HOST;
        check(unibuf_find_space("debug:0", &debug));
        check(unibuf_set_default_device(debug));
        check(unibuf_create(4096, nullptr, &made_));
        const char one = 1;
        check(unibuf_fill(made_, &one, 1));
        check(unibuf_sync_to_device(made_, 0, UNIBUF_REST));
    }
    ~buffer() { unibuf_destroy(made_); }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;

    operator unibuf_buffer*() const noexcept { return made_; }

private:
    unibuf_buffer* made_ = nullptr;
};

const operation pointer("c.host", [](const char* name) {
    const buffer of;
    void* found = nullptr;
    count(name, [&] {
        unibuf_host(of, &found);
        use(found);
    });
});

const operation pointer_to_read("c.host_to_read", [](const char* name) {
    const buffer of;
    const void* found = nullptr;
    count(name, [&] {
        unibuf_host_to_read(of, &found);
        use(found);
    });
});

const operation handle("c.device", [](const char* name) {
    const buffer of;
    unibuf_native found{};
    count(name, [&] {
        unibuf_device(of, &found);
        use(found.handle);
    });
});

void count_lease(const char* name, unibuf_access what) {
    const buffer of;
    unibuf_lease lease = UNIBUF_LEASE_INIT;
    count(name, [&] {
        unibuf_acquire(of, UNIBUF_HOST, what, nullptr, &lease);
        use(lease.data);
        unibuf_release(&lease);
    });
}

const operation read_lease("c.lease.read", [](const char* name) { count_lease(name, UNIBUF_READ); });
const operation write_lease("c.lease.write", [](const char* name) { count_lease(name, UNIBUF_WRITE); });

}  // namespace
}  // namespace cost::c
