// gpu_holds.cpp: what all handles of one buffer know of shaders that use it, and of pointers to the host's memory.
#include "gpu_holds.hpp"

namespace unibuf::fortran {

gpu_holds::gpu_holds(buffer whole, gpu where)
    : whole_(std::move(whole)), gpu_(where), tells_(where.has_own_context()), is_told_(tells_) {}

standing_hold gpu_holds::hold_of(extent part, access what) {
    const reopening opens = is_told_.load(std::memory_order_relaxed) ? reopening::told : reopening::at_once;
    return whole_.bind(gpu_.where, what, {.offset = part.offset, .count = part.bytes, .on = gpu_.on, .opens = opens});
}

std::shared_ptr<standing_hold> gpu_holds::add(extent part, access what) {
    const std::lock_guard lock(mutex_);
    auto made = std::make_shared<standing_hold>(hold_of(part, what));
    shown_.push_back({made, part, what});
    any_.store(true, std::memory_order_release);
    return made;
}

void gpu_holds::remove(const std::shared_ptr<standing_hold>& hold) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(shown_, [&](const shown& each) { return each.hold == hold; });
    any_.store(!shown_.empty(), std::memory_order_release);
    if (!shown_.empty()) return;
    hosts_own_.clear();
    hosts_turn_.store(false, std::memory_order_relaxed);
}

void gpu_holds::handle_given() {
    const std::lock_guard lock(mutex_);
    if (!is_told_.exchange(false, std::memory_order_relaxed)) return;
    for (const shown& each : shown_) *each.hold = hold_of(each.part, each.what);
}

void gpu_holds::handle_given_back() noexcept {
    const std::lock_guard lock(mutex_);
    if (shown_.empty()) is_told_.store(tells_, std::memory_order_relaxed);
}

void gpu_holds::turn_of_pointers() {
    if (!is_hosts_until_told()) pointers_turn_.store(true, std::memory_order_release);
}

void gpu_holds::was_read(extent part) {
    if (is_hosts_until_told()) return;
    if (!whole_.placement(host).writes_found) {
        const std::lock_guard lock(mutex_);
        if (!read_.empty() && read_.back().offset + read_.back().bytes == part.offset) {
            read_.back().bytes += part.bytes;
        } else {
            read_.push_back(part);
        }
    }
    turn_of_pointers();
}

void gpu_holds::forget_reads(extent part) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t end = part.offset + part.bytes;
    std::erase_if(read_, [&](const extent& of) { return part.offset < of.offset + of.bytes && of.offset < end; });
}

void gpu_holds::before_access() {
    if (!pointers_turn_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    give_reads_back();
    resume_all();
}

void gpu_holds::give_reads_back() {
    while (!read_.empty()) {
        const extent stands = read_.back();
        whole_.mark_dirty(gpu_.where, {.offset = stands.offset, .count = stands.bytes, .on = gpu_.on});
        read_.pop_back();
    }
}

void gpu_holds::bring(extent part) {
    const bool told = is_told_.load(std::memory_order_relaxed);
    if (!told) {
        const std::lock_guard lock(mutex_);
        give_reads_back();
        resume_all();  // a shader may have run since
    }
    buffer of_part = whole_.view(part.offset, part.bytes);
    copy_view brought = of_part.copy_view(host);
    if (pointers_out()) static_cast<void>(pointer_to(of_part));
    if (told) return;
    const std::lock_guard lock(mutex_);
    hosts_own_.push_back(std::move(brought));
    hosts_turn_.store(true, std::memory_order_relaxed);
}

void gpu_holds::begin_with_host() {
    const std::lock_guard lock(mutex_);
    read_.clear();
    resume_all();
}

void gpu_holds::resume_all() {
    pointers_turn_.store(false, std::memory_order_relaxed);
    hosts_turn_.store(false, std::memory_order_relaxed);
    try {
        for (const shown& each : shown_) each.hold->resume();
    } catch (...) {
        turn_of_pointers();
        throw;
    }
    hosts_own_.clear();
}

}  // namespace unibuf::fortran
