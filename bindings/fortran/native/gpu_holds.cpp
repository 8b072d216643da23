// gpu_holds.cpp
#include "gpu_holds.hpp"

namespace unibuf::fortran {

void gpu_holds::add(std::shared_ptr<standing_hold> shown) {
    const std::lock_guard lock(mutex_);
    shown_.push_back(std::move(shown));
    any_.store(true, std::memory_order_release);
}

void gpu_holds::remove(const std::shared_ptr<standing_hold>& shown) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(shown_, shown);
    any_.store(!shown_.empty(), std::memory_order_release);
}

void gpu_holds::was_read(extent part) {
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

void gpu_holds::turn_of_gpu() {
    if (!pointers_turn_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    while (!read_.empty()) {
        const extent stands = read_.back();
        whole_.mark_dirty(gpu_.where, {.offset = stands.offset, .count = stands.bytes, .on = gpu_.on});
        read_.pop_back();
    }
    resume_all();
}

void gpu_holds::begin_with_pointers() {
    const std::lock_guard lock(mutex_);
    read_.clear();
    resume_all();
}

void gpu_holds::resume_all() {
    pointers_turn_.store(false, std::memory_order_relaxed);
    try {
        for (const std::shared_ptr<standing_hold>& each : shown_) each->resume();
    } catch (...) {
        turn_of_pointers();
        throw;
    }
}

}  // namespace unibuf::fortran
