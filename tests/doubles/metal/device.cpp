// doubles/metal/device.cpp: devices, and what they make.
#include "doubles/metal/device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "doubles/metal/counts.hpp"
#include "doubles/metal/gpu.hpp"
#include "doubles/metal/library.hpp"
#include "doubles/metal/stop.hpp"

namespace metal_double {
namespace {

constexpr ns_uinteger longest_buffer = ns_uinteger{1} << 30;
constexpr ns_uinteger storage_private = 2u << 4;

bool is_unified() {
    const char* const chosen = std::getenv("UNIBUF_METAL_DOUBLE_UNIFIED");
    return !chosen || std::string_view(chosen) != "0";
}

object* name(device*, selector*) { return autoreleased(new_string("Apple M0 (unibuf's test double of Metal)")); }
signed char has_unified_memory(device*, selector*) { return is_unified(); }
signed char is_low_power(device*, selector*) { return 0; }
std::uint64_t registry_id(device* self, selector*) { return self->number; }
std::uint64_t working_set(device*, selector*) { return memory_limit(); }
ns_uinteger max_buffer_length(device*, selector*) { return longest_buffer; }
ns_uinteger current_allocated_size(device*, selector*) { return memory_taken(); }

object* new_queue_of(device* self, selector*, ns_uinteger most) {
    return call_fails() ? nullptr : new queue(*self, most);
}
object* new_shared_event(device*, selector*) { return call_fails() ? nullptr : new shared_event; }

/// To make a buffer, and to give one back, leaves something to the thread's pool, as it does with Metal.
object* with_traces(object* made, device* by) {
    by->retain();
    autoreleased(by);
    return made;
}

object* new_buffer(device* self, selector*, ns_uinteger bytes, ns_uinteger options) {
    if (options != 0 && options != storage_private) stop("a buffer with options %lu is asked for", options);
    if (call_fails() || bytes == 0 || bytes > longest_buffer || !take_memory(bytes)) return nullptr;
    return with_traces(new buffer(bytes, options == 0, nullptr), self);
}

/// Makes a buffer of the program's pages. It takes whole pages that are there, and nothing else, as Metal does.
object* new_buffer_no_copy(device* self, selector*, std::byte* pages, ns_uinteger bytes, ns_uinteger options,
                           void* deallocator) {
    if (options != 0) stop("a buffer of the program's pages with options %lu is asked for", options);
    if (deallocator) stop("the double knows no blocks");
    if (call_fails() || bytes == 0 || bytes > longest_buffer) return nullptr;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (reinterpret_cast<std::uintptr_t>(pages) % page != 0 || bytes % page != 0) return nullptr;
    if (::msync(pages, bytes, MS_ASYNC) != 0) return nullptr;
    return with_traces(are_pages_spoilt() ? new buffer(0, true, nullptr) : new buffer(bytes, true, pages), self);
}

object* new_library(device*, selector*, object* source, void* options, object** error) {
    if (options) stop("the double knows no options of compilation");
    if (call_fails()) return nullptr;
    return compiled_library(text_of(source), error);
}

object* new_pipeline(device*, selector*, kernel_function* of, object**) {
    check_alive(of);
    if (call_fails()) return nullptr;
    of->retain();
    return of;
}

/// An NSArray.
class array final : public object {
public:
    static const type about;
    explicit array(std::vector<reference<object>> all) : object(about), all_(std::move(all)) {}

    static ns_uinteger count(array* self, selector*) { return self->all_.size(); }
    static object* object_at(array* self, selector*, ns_uinteger index) {
        if (index >= self->all_.size()) stop("objectAtIndex: %lu of %zu", index, self->all_.size());
        return self->all_[index].get();
    }

private:
    std::vector<reference<object>> all_;
};

const type array::about{"NSArray",
                        {{"count", method_of(&array::count)}, {"objectAtIndex:", method_of(&array::object_at)}}};

}  // namespace

const type device::about{"MTLDevice",
                         {{"name", method_of(name)},
                          {"hasUnifiedMemory", method_of(has_unified_memory)},
                          {"isLowPower", method_of(is_low_power)},
                          {"registryID", method_of(registry_id)},
                          {"recommendedMaxWorkingSetSize", method_of(working_set)},
                          {"maxBufferLength", method_of(max_buffer_length)},
                          {"currentAllocatedSize", method_of(current_allocated_size)},
                          {"newCommandQueueWithMaxCommandBufferCount:", method_of(new_queue_of)},
                          {"newEvent", method_of(new_shared_event)},
                          {"newSharedEvent", method_of(new_shared_event)},
                          {"newBufferWithLength:options:", method_of(new_buffer)},
                          {"newBufferWithBytesNoCopy:length:options:deallocator:", method_of(new_buffer_no_copy)},
                          {"newLibraryWithSource:options:error:", method_of(new_library)},
                          {"newComputePipelineStateWithFunction:error:", method_of(new_pipeline)}}};

}  // namespace metal_double

using namespace metal_double;

/// UNIBUF_METAL_DOUBLE_DEVICES says how many devices there are: one where it says nothing.
extern "C" __attribute__((visibility("default"))) void* MTLCopyAllDevices() {
    static auto* const all = [] {
        const char* const chosen = std::getenv("UNIBUF_METAL_DOUBLE_DEVICES");
        auto* const made = new std::vector<reference<object>>;
        for (int i = 0; i < (chosen ? std::atoi(chosen) : 1); ++i) {
            auto* const each = new device(static_cast<std::uint64_t>(i));
            made->emplace_back(each);
            each->release();
        }
        return made;
    }();
    return new array(*all);
}
