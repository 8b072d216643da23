// tests/unit/shared_header_linux_test.cpp: other processes that write what they like where processes tell each other.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "unit/common.hpp"

namespace unibuf::test::shared_header_linux_test {
namespace {

constexpr std::size_t page = 4096;

// Indexes of the words in the first page of shared memory, which any process can see.
constexpr std::size_t magic_at = 0;
constexpr std::size_t bytes_at = 1;
constexpr std::size_t newest_at = 2;
constexpr std::size_t attached_at = 3;
constexpr std::size_t described_at = 4;

/// The first page of the memory behind a name, as another process maps it.
class header {
public:
    explicit header(const std::string& name) {
        const std::size_t begin = name.find(':', name.find(':') + 1) + 1;
        const std::string path = "/proc/self/fd/" + name.substr(begin, name.find(':', begin) - begin);
        const int file = ::open(path.c_str(), O_RDWR);
        void* const found = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file < 0 || found == MAP_FAILED) std::abort();
        ::close(file);
        words_ = static_cast<volatile std::uint64_t*>(found);
    }
    ~header() { ::munmap(const_cast<std::uint64_t*>(words_), page); }
    header(const header&) = delete;
    header& operator=(const header&) = delete;

    volatile std::uint64_t& operator[](std::size_t at) const { return words_[at]; }

private:
    volatile std::uint64_t* words_;
};

/// A file that a process passes off as shared memory.
class forged {
public:
    forged(std::size_t bytes, std::array<std::uint64_t, 5> words, int seals = F_SEAL_SHRINK | F_SEAL_GROW)
        : file_(::memfd_create("forged", MFD_ALLOW_SEALING)) {
        const auto size = static_cast<off_t>(bytes);
        if (file_ < 0 || ::ftruncate(file_, size) != 0) std::abort();
        if (bytes >= sizeof words && ::pwrite(file_, words.data(), sizeof words, 0) != sizeof words) std::abort();
        if (::fcntl(file_, F_ADD_SEALS, seals) != 0) std::abort();
    }
    ~forged() { ::close(file_); }
    forged(const forged&) = delete;
    forged& operator=(const forged&) = delete;

    std::string name() const {
        struct stat about{};
        ::fstat(file_, &about);
        return "unibuf:" + std::to_string(::getpid()) + ":" + std::to_string(file_) + ":" +
               std::to_string(about.st_ino);
    }

private:
    int file_;
};

void expect_refused(const std::string& name) {
    const failure refused = failure_of([&] { buffer::attach(name); });
    EXPECT_EQ(refused.code, error_code::invalid_argument) << name;
    EXPECT_NE(refused.message.find("was to be attached"), std::string::npos) << refused.message;
    EXPECT_EQ(failure_of([&] { buffer::description_of(name); }).code, error_code::invalid_argument) << name;
}

std::uint64_t true_magic() {
    buffer any(1);
    return header(any.share())[magic_at];
}

TEST(shared_header, that_is_true_is_believed) {
    const forged memory(2 * page, {true_magic(), page, 0, 0, 0});
    const buffer b = buffer::attach(memory.name());
    EXPECT_TRUE(same(content(b), of(page, 0)));
    EXPECT_EQ(buffer::description_of(memory.name()), "");
    EXPECT_EQ(failure_of([&] { unified_buffer<int>::attach(memory.name()); }).code, error_code::invalid_argument);
}

TEST(shared_header, that_says_wrong_sizes_is_refused) {
    const std::uint64_t magic = true_magic();
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t bytes :
         {page + 1, std::size_t{1} << 40, std::size_t{most - page + 1}, std::size_t{most}}) {
        expect_refused(forged(2 * page, {magic, bytes, 0, 0, 0}).name());
    }
    for (const std::uint64_t described : {std::uint64_t{4001}, std::uint64_t{page}, most}) {
        expect_refused(forged(2 * page, {magic, page, 0, 0, described}).name());
    }
    expect_refused(forged(0, {}).name());
    expect_refused(forged(page - 1, {magic, 0, 0, 0, 0}).name());
    expect_refused(forged(2 * page, {magic + 1, page, 0, 0, 0}).name());
    expect_refused(forged(2 * page, {0, page, 0, 0, 0}).name());
}

TEST(shared_header, of_memory_that_could_shrink_is_refused) {
    const std::uint64_t magic = true_magic();
    for (const int seals : {0, F_SEAL_GROW, F_SEAL_SHRINK}) {
        expect_refused(forged(2 * page, {magic, page, 0, 0, 0}, seals).name());
    }
    char path[] = "/tmp/unibuf-XXXXXX";  // a file has no seals at all
    const int file = ::mkstemp(path);
    ASSERT_EQ(::ftruncate(file, 2 * page), 0);
    ASSERT_EQ(::pwrite(file, &magic, sizeof magic, 0), static_cast<ssize_t>(sizeof magic));
    struct stat about{};
    ::fstat(file, &about);
    expect_refused("unibuf:" + std::to_string(::getpid()) + ":" + std::to_string(file) + ":" +
                   std::to_string(about.st_ino));
    ::close(file);
    ::unlink(path);
}

TEST(shared_header, names_that_are_none_are_refused) {
    const std::string self = std::to_string(::getpid());
    buffer b(5);
    const std::string good = b.share();
    for (const std::string& name :
         {std::string(), std::string("nonsense"), std::string("unibuf:1:2"), "unibuf:" + self + ":99999:1", good + "x",
          " " + good, good.substr(0, good.size() - 1), std::string("unibuf:-1:-1:-1"),
          std::string("unibuf:99999999999999999999:1:1"), "unibuf:" + self + ":0x1:1", "unibuf:" + self + "::1"}) {
        expect_refused(name);
    }
}

TEST(shared_header, that_changes_later_changes_no_size) {
    buffer b(3 * page);
    b.fill(of(1, 7));
    const std::string name = b.share("about");
    const header theirs(name);
    theirs[bytes_at] = std::uint64_t{1} << 60;
    theirs[described_at] = std::uint64_t{1} << 60;
    EXPECT_EQ(b.size_bytes(), 3 * page);
    EXPECT_TRUE(same(content(b), of(3 * page, 7)));
    EXPECT_TRUE(same(content(b, "debug:0"), of(3 * page, 7)));
    expect_refused(name);
}

TEST(shared_header, with_any_holder_is_an_error_until_it_is_settled) {
    buffer b(page);
    b.fill(of(1, 7));
    const header theirs(b.share());
    std::vector<std::uint64_t> holders{1, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63,
                                       static_cast<std::uint64_t>(::getpid())};
    for (const std::byte each : noise(20))
        holders.push_back(std::to_integer<std::uint64_t>(each) * 0x9E3779B97F4A7C15 + 1);
    for (const std::uint64_t holder : holders) {
        theirs[newest_at] = holder;
        theirs[attached_at] = holder;
        EXPECT_EQ(b.state(), buffer_state::device_dirty) << holder;
        EXPECT_EQ(failure_of([&] { b.read(host); }).code, error_code::transfer_failed) << holder;
        EXPECT_EQ(failure_of([&] { b.write("debug:0"); }).code, error_code::transfer_failed) << holder;
        b.mark_host_dirty();
        EXPECT_TRUE(same(content(b, "debug:0"), of(page, 7)));
        b.write("debug:0").release();
        theirs[newest_at] = 0;  // another process overrules this one
        EXPECT_EQ(b.state(), buffer_state::host_dirty);
        b.fill(of(1, 7));  // debug:0 has left poison at the host
    }
}

}  // namespace
}  // namespace unibuf::test::shared_header_linux_test
