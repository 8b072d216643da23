// tests/c/contract.h: what the C API does at one space; each part is a function that is given the space.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unibuf/unibuf.h>

enum { some_bytes = 100003 };  // many pages, and a multiple of no size

void contract_of_options(unibuf_space where);
void contract_of_leases(unibuf_space where);
void contract_of_one_thread(unibuf_space where);
void contract_of_leases_together(unibuf_space where);
void contract_of_raw_access(unibuf_space where);

void contract_of_states(unibuf_space where);
void contract_of_ranges(unibuf_space where);
void contract_of_content(unibuf_space where);
void contract_of_views(unibuf_space where);
void contract_of_rectangles(unibuf_space where);

void contract_of_statistics(unibuf_space where);
void contract_of_causes(unibuf_space where);
void contract_of_guards(unibuf_space where);
void contract_of_traces(unibuf_space where);
void contract_of_memory(unibuf_space where);
void contract_of_devices(unibuf_space where);

void contract_of_callers_memory(unibuf_space where);
void contract_of_held_copies(unibuf_space where);
void contract_of_holders(unibuf_space where);
void contract_of_pools(unibuf_space where);
void contract_of_batches(unibuf_space where);
void contract_of_fences(unibuf_space where);
void contract_of_events(unibuf_space where);
void contract_of_names(unibuf_space where);

void contract_of_native_handles(unibuf_space where);

// ---- What the parts share ----

/// Makes a buffer for the space.
unibuf_buffer* made(size_t bytes, unibuf_space where, unibuf_memory_hint hint);

/// These write and check content that looks random, and is the same for the same `seed`. `offset` is where the bytes
/// lie in it.
void host_writes(unibuf_buffer* buffer, unsigned seed);
bool is_noise(const void* data, size_t offset, size_t size, unsigned seed);
unsigned char noise_at(size_t offset, unsigned seed);

/// These check what the host reads, by unibuf_copy_to.
bool host_reads_noise(unibuf_buffer* buffer, unsigned seed);
bool host_reads(unibuf_buffer* buffer, unsigned char each);

/// Checks what the device has: its bytes are made the newest, and read back.
bool device_has_noise(unibuf_buffer* buffer, unibuf_space where, unsigned seed);

/// Fills the buffer at the device.
void device_fills(unibuf_buffer* buffer, unibuf_space where, unsigned char each);

/// Takes a lease, and ends it.
void touch(unibuf_buffer* buffer, unibuf_space where, unibuf_access access, size_t offset, size_t size);

unibuf_buffer_state state_of(const unibuf_buffer* buffer);
uint64_t bytes_moved(const unibuf_buffer* buffer);
bool is_shared(const unibuf_buffer* buffer, unibuf_space where);
