// bindings.cpp
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

std::shared_ptr<const bound_storage> find(const list& in, const list::key_type& binding) {
    const auto found = in.find(binding);
    return found == in.end() ? nullptr : found->second.lock();
}

}  // namespace

void note_binding(space where, unsigned binding, const std::shared_ptr<const bound_storage>& bound) {
    own[{where.id(), binding}] = bound;
    const std::lock_guard lock(last.mutex);
    last.of_any_thread[{where.id(), binding}] = bound;
}

std::shared_ptr<const bound_storage> bound_at(space where, unsigned binding) {
    if (auto found = find(own, {where.id(), binding})) return found;
    const std::lock_guard lock(last.mutex);
    return find(last.of_any_thread, {where.id(), binding});
}

}  // namespace unibuf::fortran
