// peers/works.cpp
#include "works.hpp"

#include <unibuf/statistics.hpp>
#include <unibuf/trace.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "moved.hpp"

namespace peers {
namespace {

struct work {
    const char* name;
    const char* unit;  // of one
    int rounds;
    std::function<way(contender&)> make;
};

const std::vector<work>& works() {
    static const std::vector<work> all{
        {"read what is current at the host", "ns", 51, [](contender& by) { return by.read_at_host(); }},
        {"read what is current at the device", "ns", 51, [](contender& by) { return by.read_at_device(); }},
        {"construct and destroy, 64 MiB", "us", 11, [](contender& by) { return by.construct(); }},
        {"change one element of 64 MiB, named", "ms", 51, [](contender& by) { return by.change_named(); }},
        {"change one element of 64 MiB", "ms", 51, [](contender& by) { return by.change_unnamed(); }},
        {"rewrite 1 MiB", "ms", 101, [](contender& by) { return by.rewrite(middle); }},
        {"rewrite 64 MiB", "ms", 31, [](contender& by) { return by.rewrite(large); }},
        {"read a row of 4096 x 4096", "us", 51, [](contender& by) { return by.row(); }},
        {"read a column of 4096 x 4096", "us", 51, [](contender& by) { return by.column(); }},
        {"a temporary of 1 MiB", "us", 31, [](contender& by) { return by.temporary(); }},
        {"a small buffer of 10,000, 4 KiB", "us", 7, [](contender& by) { return by.many_small(); }},
    };
    return all;
}

double median(std::vector<double> of) {
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::ranges::nth_element(of, at);
    return *at;
}

/// What one turn took and moved.
struct turn {
    double seconds = 0;
    traffic moved;
    std::uint64_t by_unibuf = 0;
};

/// Does what needs a contender's threads.
template <class Work>
void present(contender& by, Work work) {
    by.enter();
    work();
    by.leave();
}

turn take(contender& by, const way& how) {
    using clock = std::chrono::steady_clock;
    turn result;
    present(by, [&] {
        how.prepare();
        const traffic before = moved();
        const std::uint64_t counted = unibuf::total_statistics().bytes_moved();
        const clock::time_point begin = clock::now();
        how.run();
        const std::chrono::duration<double> taken = clock::now() - begin;
        const traffic after = moved();
        result = {taken.count() / static_cast<double>(how.times),
                  {(after.copied - before.copied) / how.times, (after.mapped - before.mapped) / how.times},
                  (unibuf::total_statistics().bytes_moved() - counted) / how.times};
    });
    return result;
}

nlohmann::ordered_json row_of(const work& of, const match& pair, const std::string& placement) {
    nlohmann::ordered_json row{{"work", of.name}, {"peer", pair.peer}, {"placement", placement}, {"unit", of.unit}};
    way theirs;
    present(*pair.by_peer, [&] { theirs = of.make(*pair.by_peer); });
    row["note"] = theirs.note;
    if (!theirs.run) return row;
    const std::unique_ptr<contender> unibuf = pair.by_unibuf(placement);
    const way ours = of.make(*unibuf);
    std::vector<double> peer_seconds, unibuf_seconds, ratios;
    turn of_peer, of_unibuf;
    for (int round = -1; round < of.rounds; ++round) {  // the first one is not timed: memory is made
        of_peer = take(*pair.by_peer, theirs);
        of_unibuf = take(*unibuf, ours);
        if (theirs.result() != ours.result()) {
            throw std::runtime_error(std::string(of.name) + ": " + pair.peer + " and unibuf have different results");
        }
        if (round < 0) continue;
        peer_seconds.push_back(of_peer.seconds);
        unibuf_seconds.push_back(of_unibuf.seconds);
        ratios.push_back(of_peer.seconds / of_unibuf.seconds);
    }
    row["peer_seconds"] = median(peer_seconds);
    row["unibuf_seconds"] = median(unibuf_seconds);
    row["ratio"] = median(ratios);
    if (is_counting()) {
        row["bytes"] = of_peer.moved.copied;
        row["mapped_bytes"] = of_peer.moved.mapped;
    }
    row["unibuf_bytes"] = of_unibuf.by_unibuf;
    present(*pair.by_peer, [&] { theirs = {}; });
    return row;
}

}  // namespace

void play(const match& of, int argc, char** argv) {
    if (argc < 2) throw std::invalid_argument("usage: " + std::string(argv[0]) + " ROWS.JSON [WORD OF A WORK]");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const work& each : works()) {
        if (argc > 2 && std::string(each.name).find(argv[2]) == std::string::npos) continue;
        for (const char* placement : {"mirrored", "default"}) {
            std::fprintf(stderr, "%s: %s, %s\n", of.peer.c_str(), each.name, placement);
            rows.push_back(row_of(each, of, placement));
            if (!rows.back().contains("ratio")) break;
        }
    }
    std::ofstream file(argv[1]);
    if (!(file << rows.dump(4) << '\n')) throw std::runtime_error(std::string("cannot write ") + argv[1]);
}

int guarded(const std::function<void()>& run) {
    try {
        run();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}

}  // namespace peers
