// cli/export.cpp: `unibuf export` writes a trace in the formats of other tools.
#include "export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "database.hpp"
#include "lines.hpp"
#include "output.hpp"
#include "output_file.hpp"
#include "summary.hpp"
#include "unibuf/trace.hpp"

namespace unibuf_cli {
namespace {

using unibuf::event;
using unibuf::event_kind;
using unibuf::trace_file;

constexpr mark database_mark{.at = 68, .text = "unib"};  // the application_id of SQLite
constexpr mark timeline_mark{.at = 0, .text = R"({"otherData":{"from":"unibuf"})"};

/// The events of Chrome's tracing, which Perfetto reads: https://ui.perfetto.dev opens the file. Each thread has a
/// track of what it asked for, and each way, or queue that was named, one of what was moved. Arrows go from who wrote
/// some bytes to what moved them, and on to who used them first.
class timeline {
public:
    timeline(const trace_file& of, std::ostream& to) : of_(of), to_(to) {
        for (const event& each : of.events) origin_ = std::min(origin_, each.time - each.took);
    }

    void write() {
        to_ << timeline_mark.text << ",\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        for (const event& each : of_.events) add(each);
        std::size_t flow = 0;
        for (const unibuf::transfer_fate& each : unibuf::fates_of(of_.events)) {
            const event& made = of_.events[each.transfer];
            ++flow;
            if (each.writer) arrow("s", flow, of_.events[*each.writer]);
            if (each.writer || each.first_use) arrow(each.writer ? "t" : "s", flow, made);
            if (each.first_use) arrow("f", flow, of_.events[*each.first_use]);
        }
        to_ << "\n]}\n";
    }

private:
    static double us(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }
    std::uint64_t begin_of(const event& each) const { return each.time - each.took - origin_; }

    /// Returns the number of an event's track, which it names when it is new.
    std::uint64_t track_of(const event& each) {
        const bool moves = each.kind == event_kind::transfer;
        std::string name = fmt::format("thread {}", each.thread);
        if (moves) name = fmt::format("{} to {}", of_.space_name(each.from), of_.space_name(each.to));
        if (each.queue != 0) name += fmt::format(", queue {:#x}", each.queue);
        const auto [found, is_new] = tracks_.try_emplace({each.process, name}, tracks_.size() + 1);
        if (is_new) {
            put({{"ph", "M"},
                 {"name", "thread_name"},
                 {"pid", each.process},
                 {"tid", found->second},
                 {"args", {{"name", name}}}});
        }
        return found->second;
    }

    void add(const event& each) {
        const std::uint64_t track = track_of(each);
        const std::string kind(to_string(each.kind));
        const bool is_asked = each.kind == event_kind::access || each.kind == event_kind::transfer;
        nlohmann::ordered_json about{
            {"buffer", each.buffer}, {"begin", each.begin},           {"end", each.end},
            {"bytes", each.bytes},   {"at", of_.space_name(each.to)}, {"in", of_.site_name(each.site)}};
        if (is_asked) about["cause"] = to_string(each.why);
        if (each.kind == event_kind::transfer) about["route"] = to_string(each.route);
        if (each.kind == event_kind::lease_end) return add_lease(each, track, about);
        put({{"ph", "X"},
             {"name", is_asked ? fmt::format("{} for {}", kind, to_string(each.why)) : kind},
             {"cat", kind},
             {"ts", us(begin_of(each))},
             {"dur", us(each.took)},
             {"pid", each.process},
             {"tid", track},
             {"args", about}});
    }

    /// Leases of one thread may overlap, which slices of one track may not.
    void add_lease(const event& end, std::uint64_t track, const nlohmann::ordered_json& about) {
        ++leases_;
        for (const char* const phase : {"b", "e"}) {
            put({{"ph", phase},
                 {"name", fmt::format("lease at {}", of_.space_name(end.to))},
                 {"cat", "lease"},
                 {"id", leases_},
                 {"ts", us(begin_of(end) + (*phase == 'e' ? end.took : 0))},
                 {"pid", end.process},
                 {"tid", track},
                 {"args", about}});
        }
    }

    void arrow(const char* phase, std::size_t flow, const event& at) {
        nlohmann::ordered_json made{{"ph", phase},        {"name", "bytes"},        {"cat", "bytes"},
                                    {"id", flow},         {"ts", us(begin_of(at))}, {"pid", at.process},
                                    {"tid", track_of(at)}};
        if (*phase == 'f') made["bp"] = "e";  // it ends at the slice that is there, not at the next one
        put(made);
    }

    void put(const nlohmann::ordered_json& one) {
        if (!is_first_) to_ << ",\n";
        is_first_ = false;
        to_ << text_of(one, -1);
    }

    const trace_file& of_;
    std::ostream& to_;
    std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> tracks_;
    std::uint64_t origin_ = ~std::uint64_t{0};
    std::size_t leases_ = 0;
    bool is_first_ = true;
};

}  // namespace

void add_export(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("export", "A trace for other tools: Perfetto, SQLite");
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "A trace: UNIBUF_TRACE=file writes one")->required();
    const auto out = std::make_shared<output_file>();
    add_output(*command, *out, "NAME.json: a timeline for Perfetto; NAME.sqlite: a table of all events")
        ->required()
        ->check([](const std::string& name) {
            return name.ends_with(".json") || name.ends_with(".sqlite") ? "" : "its name ends with .json or .sqlite";
        });
    command->final_callback([=] {
        const bool to_database = out->name.ends_with(".sqlite");
        out->check(*file, to_database ? database_mark : timeline_mark);
        const trace_file read = trace_with_lines(*file);
        if (to_database) return write_database(read, out->name);
        write_file(out->name, [&](std::ostream& to) { timeline(read, to).write(); });
    });
}

}  // namespace unibuf_cli
