// doctor/seen_fault.cpp: the sentences about each kind of fault.
#include "doctor/seen_fault.hpp"

#include <fmt/format.h>

#include <string>

namespace unibuf::doctor {
namespace {

std::string ns_text(std::uint64_t ns) {
    if (ns < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
    if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
    return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
}

/// Returns "12 times", or "once".
std::string times(std::uint64_t number) { return number == 1 ? "once" : fmt::format("{} times", number); }

}  // namespace

finding with_sentences(const seen_fault& of, const trace_file& names) {
    finding result = of.so_far;
    const event& first = *of.first;
    const std::string from = names.space_name(first.from), to = names.space_name(first.to), often = times(result.times);
    const std::uint64_t bytes = result.bytes;
    switch (result.kind) {
        case fault::round_trip:
            result.evidence = fmt::format(
                "{} of {} times bytes went from {} to {}, {} in all, after a lease for writing "
                "that had changed none of them",
                result.times, of.of, from, to, bytes);
            result.change = "take `read` here, or write less";
            break;
        case fault::mark_without_write:
            result.evidence = fmt::format(
                "{} of {} times bytes went from {} to {}, {} in all, after a mark, and none of "
                "them had changed",
                result.times, of.of, from, to, bytes);
            result.change = "mark what was written alone";
            break;
        case fault::filled_at_host:
            result.evidence =
                fmt::format("{} {} bytes were filled at {}, and went from there to {}", often, bytes, from, to);
            result.change = "fill them where they are used: `fill` takes a space";
            break;
        case fault::overwritten_fetch:
            result.evidence = fmt::format(
                "{} {} bytes were brought from {} to {}, and overwritten there before "
                "anybody used them",
                often, bytes, from, to);
            result.change = "leave this out: who takes `write` needs nothing to be brought";
            break;
        case fault::unread_copy:
            result.evidence = fmt::format("{} {} bytes were brought from {} to {}, and nobody used them there", often,
                                          bytes, from, to);
            result.change = "leave this out, or bring the bytes when they are used";
            break;
        case fault::ping_pong:
            result.evidence = fmt::format("{} bytes went to and fro between {} and {}, {} in all, written at both ends",
                                          bytes, from, to, often);
            result.change = fmt::format(
                "do this step where the others are done; where it does not need what comes, take "
                "`write` here");
            break;
        case fault::whole_for_part:
            result.evidence = fmt::format("{} {} bytes went from {} to {}, of which {} {}", often, of.whole, from, to,
                                          of.whole - bytes, of.is_by_news ? "had changed" : "were used");
            result.change = of.is_by_news ? "write the part alone: an offset and a count, or a view"
                                          : "bring the part alone: an offset and a count, or a view";
            break;
        case fault::many_small:
            result.evidence = fmt::format("{} transfers, one after the other, brought {} bytes to {}: {} each",
                                          result.times, of.whole, to, of.whole / result.times);
            result.change =
                of.is_of_one ? "take all in one access: a rectangle, or the whole range" : "take all in one batch";
            break;
        case fault::churn:
            result.evidence = fmt::format(
                "{} buffers got their first copies here and were destroyed, one after the other, with {} bytes "
                "each",
                result.times, bytes / result.times);
            result.change = "make it once, or take it from a pool";
            break;
        case fault::lost:
            result.evidence = fmt::format(
                "{} buffers got their first copies here, one after the other; none was used again, and none has ended: "
                "their copies took {} bytes",
                result.times, bytes);
            result.change =
                "destroy each before its handle is assigned anew, or goes: Fortran's and C's handles end nothing by "
                "themselves";
            break;
        case fault::pageable:
            result.evidence = fmt::format("{} {} bytes went between {} and {} by way of unibuf's own pinned memory",
                                          often, bytes, from, to);
            result.change = "make the buffer `pinned`";
            break;
        case fault::thrash:
            result.evidence = fmt::format(
                "{} bytes were evicted at {}, and brought there again as they had been: {} bytes", often, to, bytes);
            result.change = "use less memory at a time there, or finish with one buffer before the next";
            break;
        case fault::untracked_writes:
            result.evidence = fmt::format(
                "{} what host pointers reach counted as written, as writes are not found in this process: {} bytes "
                "went from {}, of which {} need not have. The reason: {}",
                often, of.whole, from, bytes, names.untracked.empty() ? "the trace has none" : names.untracked);
            result.change =
                "let them be found, if the reason has a cure; or write by leases, which name what they write";
            break;
        case fault::long_lease:
            result.evidence =
                fmt::format("{} others waited for a lease at {} to end, {} in all; it was held for up to {}", often, to,
                            ns_text(result.took), ns_text(of.whole));
            result.change = "end the lease sooner, or lease the part that is used";
            break;
    }
    return result;
}

}  // namespace unibuf::doctor
