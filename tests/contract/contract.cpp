// tests/contract/contract.cpp: finds the space, and compares bytes.
#include "contract/contract.hpp"

#include <algorithm>
#include <cstring>

namespace unibuf::contract {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(sharing_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(buffer_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(threads_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(host_write_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(eviction_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(queued_eviction_contract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(queued_work_contract);

std::string name_of_subject(const ::testing::TestParamInfo<subject>& of) {
    std::string name = of.param.name;
    std::ranges::replace(name, ':', '_');
    return name;
}

bytes repeated(std::span<const std::byte> pattern, std::size_t count) {
    bytes result(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(std::min(pattern.size(), count)));
    result.resize(count);
    for (std::size_t done = pattern.size(); done < count; done *= 2) {
        std::memcpy(&result[done], result.data(), std::min(done, count - done));
    }
    return result;
}

error_code code_of(const std::function<void()>& call, std::string* message) {
    try {
        call();
    } catch (const error& thrown) {
        if (message) *message = thrown.what();
        EXPECT_STRNE(thrown.what(), "");
        return thrown.code();
    }
    ADD_FAILURE() << "no error was thrown";
    return {};
}

void on_a_space::SetUp() {
    try {
        where_ = GetParam().find();
    } catch (const error& missing) {
        if (missing.code() != error_code::device_unavailable) throw;
        GTEST_SKIP() << missing.what();
    }
}

void sharing_contract::SetUp() {
    on_a_space::SetUp();
    if (IsSkipped() || about().aliases_host || about().host_visible) return;
    GTEST_SKIP() << about().description << " shares no memory with the host";
}

void put(backends::memory& to, std::size_t offset, std::span<const std::byte> content) {
    to.write(offset, content, {}).wait();
}

bytes get(backends::memory& from, std::size_t offset, std::size_t count) {
    bytes result(count);
    from.read(offset, result, {}).wait();
    return result;
}

}  // namespace unibuf::contract
