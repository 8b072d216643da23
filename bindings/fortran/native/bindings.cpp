// bindings.cpp: which buffers the shaders of a thread use.
#include "bindings.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace unibuf::fortran {
namespace {

using list = std::map<std::pair<std::uint8_t, unsigned>, std::weak_ptr<const bound_storage>>;

thread_local list own;

struct {
    std::mutex mutex;
    list of_any_thread;
} last;

}  // namespace

void note_binding(space where, unsigned binding, const std::shared_ptr<const bound_storage>& bound) {
    own[{where.id(), binding}] = bound;
    const std::lock_guard lock(last.mutex);
    last.of_any_thread[{where.id(), binding}] = bound;
}

std::shared_ptr<const bound_storage> bound_at(space where, unsigned binding) {
    const list::key_type wanted(where.id(), binding);
    if (const auto found = own.find(wanted); found != own.end()) return found->second.lock();
    const std::lock_guard lock(last.mutex);
    const auto found = last.of_any_thread.find(wanted);
    return found == last.of_any_thread.end() ? nullptr : found->second.lock();
}

}  // namespace unibuf::fortran
