// doctor/seen_fault.hpp: what was seen of one fault at one place, and the sentences about it.
#pragma once

#include <cstdint>

#include "unibuf/trace.hpp"

namespace unibuf::doctor {

struct seen_fault {
    finding so_far;           // without its sentences
    std::uint64_t whole = 0;  // bytes of what was moved in all; the longest lease
    std::uint64_t of = 0;     // how often the line did the like of it, faulty or not
    bool is_by_news = false;  // it is known by what has changed, and not by what was used
    bool is_of_one = true;    // buffer
    const event* first = nullptr;
};

/// Returns the finding with its sentences.
finding with_sentences(const seen_fault& of, const trace_file& names);

}  // namespace unibuf::doctor
