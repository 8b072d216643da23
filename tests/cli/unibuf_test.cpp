// tests/cli/unibuf_test.cpp: the tool, as people and programs use it.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/program.hpp"
#include "unibuf/space.hpp"

namespace unibuf::cli::unibuf_test {
namespace {

using arguments = std::vector<std::string>;

const std::vector<std::pair<std::string, std::string>> no_drivers = {{"OCL_ICD_VENDORS", "/nonexistent"},
                                                                     {"__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent"}};

outcome unibuf_with(const arguments& given, const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    return run("cli/unibuf", given, variables);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> result;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) result.push_back(line);
    return result;
}

TEST(the_tool, tells_its_version) {
    const outcome got = unibuf_with({"--version"});
    EXPECT_EQ(got.status, 0);
    EXPECT_TRUE(got.out.starts_with("unibuf ")) << got.out;
    EXPECT_EQ(std::ranges::count(got.out, '.'), 2) << got.out;
    EXPECT_EQ(got.err, "");
}

TEST(the_tool, helps) {
    for (const arguments& given : {arguments{"--help"}, arguments{"-h"}, arguments{"devices", "--help"}}) {
        const outcome got = unibuf_with(given);
        EXPECT_EQ(got.status, 0);
        EXPECT_NE(got.out.find("devices"), std::string::npos) << got.out;
        EXPECT_EQ(got.err, "");
    }
    const outcome alone = unibuf_with({});
    EXPECT_EQ(alone.status, 2);
    EXPECT_EQ(alone.out, "");
    EXPECT_NE(alone.err.find("devices"), std::string::npos) << alone.err;
}

TEST(the_tool, refuses_nonsense_in_one_line) {
    for (const arguments& given : {arguments{"nonsense"}, arguments{"--nonsense"}, arguments{"devices", "nonsense"},
                                   arguments{"devices", "--jsno"}, arguments{"devices", "--json=3"},
                                   arguments{"--json"}, arguments{""}, arguments{"two\nlines"}}) {
        SCOPED_TRACE(given.back());
        const outcome got = unibuf_with(given);
        EXPECT_EQ(got.status, 2);
        EXPECT_EQ(got.out, "");
        expect_one_clear_line(got, "unibuf", "--help");
    }
}

TEST(the_tool, tells_when_its_output_is_lost) {
    for (const arguments& given : {arguments{"devices"}, arguments{"devices", "--json"}, arguments{"--version"}}) {
        expect_one_clear_line(run("cli/unibuf", given, no_drivers, "/dev/full"), "unibuf", "could not be written");
    }
}

TEST(the_tool, lists_the_devices_as_json) {
    const outcome got = unibuf_with({"devices", "--json"});
    EXPECT_EQ(got.status, 0);
    const nlohmann::json list = nlohmann::json::parse(got.out);
    const std::vector<device_info> expected = devices();
    ASSERT_EQ(list.size(), expected.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const nlohmann::json& each = list[i];
        EXPECT_EQ(each.size(), 12u) << each;
        EXPECT_EQ(each.at("name"), expected[i].name);
        EXPECT_EQ(each.at("available"), expected[i].available);
        EXPECT_EQ(each.at("reason").get<std::string>().empty(), expected[i].available);
        EXPECT_EQ(each.at("default"), expected[i].name == default_device().name());
        EXPECT_EQ(each.at("own_memory"), expected[i].own_memory);
        EXPECT_EQ(each.at("aliases_host"), expected[i].aliases_host);
        EXPECT_EQ(each.at("host_visible"), expected[i].host_visible);
        EXPECT_EQ(each.at("asynchronous"), expected[i].asynchronous);
        EXPECT_EQ(each.at("memory_bytes"), expected[i].memory_bytes);
        EXPECT_EQ(each.at("description"), expected[i].description);
        const bool knows_free = expected[i].available && memory_of(expected[i].name).free;
        EXPECT_EQ(each.at("free_bytes").is_number_unsigned(), knows_free) << each;
        EXPECT_EQ(each.at("free_bytes").is_null(), !knows_free) << each;
        EXPECT_EQ(each.at("properties").size(), expected[i].properties.size()) << each;
        for (const device_property& said : expected[i].properties) {
            EXPECT_EQ(each.at("properties").at(said.name), said.value);
        }
    }
    EXPECT_EQ(list[0].at("name"), "host");
    EXPECT_GT(list[0].at("free_bytes"), 0);
    EXPECT_LE(list[0].at("free_bytes"), list[0].at("memory_bytes"));
}

TEST(the_tool, lists_the_devices_in_columns) {
    const outcome got = unibuf_with({"devices"});
    EXPECT_EQ(got.status, 0);
    EXPECT_EQ(got.err, "");
    const std::vector<std::string> lines = lines_of(got.out);
    const std::vector<device_info> expected = devices();
    ASSERT_EQ(lines.size(), expected.size() + 2);
    const std::size_t last_column = lines[0].find("description");
    ASSERT_NE(last_column, std::string::npos) << lines[0];
    for (const char* const column :
         {"space", "memory", "free", "own memory", "aliases host", "host visible", "asynchronous"}) {
        EXPECT_NE(lines[0].find(column), std::string::npos) << lines[0];
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::string& line = lines[i + 1];
        EXPECT_TRUE(line.starts_with(expected[i].name + " ")) << line;
        if (!expected[i].available) continue;
        EXPECT_EQ(line.substr(last_column), expected[i].description);
        for (const auto& [name, has] : {std::pair{"own memory", expected[i].own_memory},
                                        {"aliases host", expected[i].aliases_host},
                                        {"host visible", expected[i].host_visible},
                                        {"asynchronous", expected[i].asynchronous}}) {
            EXPECT_EQ(line.substr(lines[0].find(name), 3), has ? "yes" : "-  ") << name << ": " << line;
        }
    }
    EXPECT_TRUE(lines[1].starts_with("host *")) << "the default device";
    EXPECT_EQ(lines.back(), "* the default device");
}

/// Puts a folder in the place of that of the cgroups, for the program that it becomes.
outcome with_cgroups(const std::string& folder, arguments command) {
    const std::string script = "mount --bind '" + folder + "' /sys/fs/cgroup && exec \"$0\" \"$@\"";
    command.insert(command.begin(), {"-rm", "sh", "-c", script});
    return run("/usr/bin/unshare", command, no_drivers);
}

TEST(the_tool, says_where_the_host_is_limited_by_a_cgroup) {
    const scratch files;
    std::filesystem::create_directory(files.file("memory"));  // where version 1 has it
    std::ofstream(files.file("memory.max")) << (1 << 26);
    std::ofstream(files.file("memory/memory.limit_in_bytes")) << (1 << 26);
    if (const outcome tried = with_cgroups(files.file(""), {"true"}); tried.status != 0) {
        GTEST_SKIP() << "no folder can be mounted here: " << tried.err;
    }
    if (text_of("/proc/self/cgroup").empty()) GTEST_SKIP() << "the system has no cgroups";
    const std::string tool = std::string(UNIBUF_BUILD_DIR) + "/cli/unibuf";

    const outcome json = with_cgroups(files.file(""), {tool, "devices", "--json"});
    ASSERT_EQ(json.status, 0) << json.err;
    const nlohmann::json host = nlohmann::json::parse(json.out).at(0);
    EXPECT_EQ(host.at("memory_bytes"), 1 << 26);
    EXPECT_LE(host.at("free_bytes"), 1 << 26);
    EXPECT_EQ(host.at("properties").at("limited by cgroup"), "/");

    const std::string line = lines_of(with_cgroups(files.file(""), {tool, "devices"}).out).at(1);
    EXPECT_TRUE(line.starts_with("host *") && line.find("64.0 MiB") != std::string::npos) << line;
    EXPECT_NE(line.find("within a cgroup's limit"), std::string::npos) << line;
}

TEST(the_tool, lists_what_drivers_say_where_that_is_asked_for) {
    for (const char* const flag : {"-v", "--verbose"}) {
        const outcome got = unibuf_with({"devices", flag});
        EXPECT_EQ(got.status, 0) << got.err;
        const std::size_t table = got.out.find("* the default device\n");
        ASSERT_NE(table, std::string::npos) << got.out;
        for (const device_info& each : devices()) {
            if (each.properties.empty()) continue;
            const std::size_t title = got.out.find("\n\n" + each.name + "\n", table);
            ASSERT_NE(title, std::string::npos) << got.out;
            for (const device_property& said : each.properties) {
                const std::size_t line = got.out.find("\n  " + said.name + " ", title);
                ASSERT_NE(line, std::string::npos) << said.name << '\n' << got.out;
                EXPECT_NE(got.out.find(said.value, line), std::string::npos) << said.value << '\n' << got.out;
            }
        }
    }
}

TEST(the_tool, works_without_drivers_and_says_what_is_missing) {
    const outcome got = unibuf_with({"devices", "--json"}, no_drivers);
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_EQ(got.err, "");
    std::set<std::string> available;
    std::set<std::string> missing;
    for (const nlohmann::json& each : nlohmann::json::parse(got.out)) {
        (each.at("available") ? available : missing).insert(each.at("name"));
        EXPECT_NE(each.at("available"), !each.at("reason").get<std::string>().empty()) << each;
    }
    EXPECT_TRUE(available.contains("host") && available.contains("debug:0")) << got.out;
    EXPECT_TRUE(missing.contains("opencl") && missing.contains("opengl")) << got.out;

    const outcome table = unibuf_with({"devices"}, no_drivers);
    EXPECT_EQ(table.status, 0);
    for (const std::string& line : lines_of(table.out)) {
        if (!line.starts_with("opencl") && !line.starts_with("opengl")) continue;
        const std::size_t reason = line.find("  unavailable: ");
        ASSERT_NE(reason, std::string::npos) << line;
        EXPECT_GT(line.size(), reason + 20) << "and the reason";
    }
}

}  // namespace
}  // namespace unibuf::cli::unibuf_test
