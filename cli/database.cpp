// cli/database.cpp: a trace as a database of SQLite, for traces of millions of events.
#include "database.hpp"

#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <memory>
#include <string_view>

#include "unibuf/error.hpp"

#ifdef UNIBUF_TOOL_SQLITE
#include <sqlite3.h>
#endif

namespace unibuf_cli {

#ifdef UNIBUF_TOOL_SQLITE
namespace {

using unibuf::event;
using unibuf::trace_file;

class database {
public:
    explicit database(const std::string& name) : name_(name) {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(name, ignored)) std::filesystem::remove(name, ignored);
        sqlite3* opened = nullptr;
        // SQLite would take what begins with "file:" for an address with options.
        const int result = sqlite3_open((name.starts_with("file:") ? "./" + name : name).c_str(), &opened);
        at_.reset(opened);
        check(result);
    }

    void run(const char* sql) { check(sqlite3_exec(at_.get(), sql, nullptr, nullptr, nullptr)); }

    void check(int result) const {
        if (result == SQLITE_OK || result == SQLITE_DONE) return;
        throw unibuf::error(unibuf::error_code::invalid_argument,
                            fmt::format("{} was to be written: {}", name_, sqlite3_errmsg(at_.get())));
    }

    sqlite3* get() const noexcept { return at_.get(); }

private:
    std::string name_;
    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> at_{nullptr, &sqlite3_close};
};

/// A statement that adds rows, one value after the other.
class rows {
public:
    rows(const database& to, const char* sql) : to_(to) {
        sqlite3_stmt* made = nullptr;
        to_.check(sqlite3_prepare_v2(to_.get(), sql, -1, &made, nullptr));
        statement_.reset(made);
    }

    template <class... Values>
    void add(const Values&... values) {
        int column = 0;
        (bind(++column, values), ...);
        to_.check(sqlite3_step(statement_.get()));
        to_.check(sqlite3_reset(statement_.get()));
    }

private:
    /// Addresses and numbers of places take all 64 bits; SQLite's numbers are signed.
    void bind(int column, std::uint64_t value) {
        to_.check(sqlite3_bind_int64(statement_.get(), column, std::bit_cast<sqlite3_int64>(value)));
    }
    void bind(int column, std::string_view value) {
        to_.check(sqlite3_bind_text(statement_.get(), column, value.data(), static_cast<int>(value.size()),
                                    SQLITE_TRANSIENT));
    }
    void bind(int column, const std::optional<std::uint64_t>& value) {
        value ? bind(column, *value) : to_.check(sqlite3_bind_null(statement_.get(), column));
    }

    const database& to_;
    std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_{nullptr, &sqlite3_finalize};
};

std::string_view access_text(unibuf::access what) {
    static constexpr std::string_view names[] = {"", "read", "write", "read_write"};
    return names[static_cast<std::size_t>(what)];
}

}  // namespace

void write_database(const trace_file& of, const std::string& name) {
    database to(name);
    to.run(
        "pragma application_id = 0x756e6962;"  // "unib", by which `export` knows its own
        "begin;"
        "create table event(time integer, kind text, cause text, access text, source integer, target integer,"
        " demand integer, route text, thread integer, process integer, buffer integer, first integer, end integer,"
        " bytes integer, took integer, site integer, queue integer, news integer);"
        "create table space(id integer primary key, name text);"
        "create table site(id integer primary key, name text);");
    rows events(to, "insert into event values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (const event& each : of.events) {
        events.add(each.time, to_string(each.kind), to_string(each.why), access_text(each.what),
                   std::uint64_t{each.from}, std::uint64_t{each.to}, std::uint64_t{each.is_demand},
                   to_string(each.route), std::uint64_t{each.thread}, std::uint64_t{each.process}, each.buffer,
                   each.begin, each.end, each.bytes, each.took, each.site, each.queue, news_of(each));
    }
    rows spaces(to, "insert into space values(?,?)");
    for (const auto& [id, text] : of.spaces) spaces.add(std::uint64_t{id}, std::string_view(text));
    rows sites(to, "insert into site values(?,?)");
    for (const auto& [id, text] : of.sites) sites.add(id, std::string_view(text));
    to.run("commit");
}

#else

void write_database(const unibuf::trace_file&, const std::string& name) {
    throw unibuf::error(unibuf::error_code::unsupported,
                        name + " was to be written, but this tool was built without SQLite (Debian: libsqlite3-dev)");
}

#endif

}  // namespace unibuf_cli
