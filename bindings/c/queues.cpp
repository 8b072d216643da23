// queues.cpp: the queues that a program has named, so that a pointer to something else is told from one.
#include "queues.hpp"

#include <exception>
#include <mutex>
#include <shared_mutex>
#include <unibuf/error.hpp>
#include <unordered_set>

namespace unibuf::c {
namespace {

std::shared_mutex mutex;

std::unordered_set<void*>& all() {
    static auto& made = *new std::unordered_set<void*>;  // calls may come while the process ends
    return made;
}

}  // namespace

unibuf_queue noted(queue made) noexcept {
    try {
        {
            const std::shared_lock lock(mutex);
            if (all().contains(made.native)) return made.native;
        }
        const std::lock_guard lock(mutex);
        all().insert(made.native);
    } catch (const std::exception&) {  // what cannot be noted is refused when it is named
    }
    return made.native;
}

queue queue_of(unibuf_queue given) {
    if (!given) return {};
    const std::shared_lock lock(mutex);
    if (!all().contains(given)) {
        throw error(error_code::invalid_argument,
                    "what was named is no queue: unibuf_opencl_queue, unibuf_cuda_queue, unibuf_metal_queue and "
                    "unibuf_opengl_queue make them");
    }
    return {given};
}

}  // namespace unibuf::c
