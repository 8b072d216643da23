// peers/dualview.cpp: Kokkos' DualView. Debian's Kokkos has no device, so that both sides are one memory: what is
// measured is how DualView keeps account.
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include "by_unibuf.hpp"

namespace peers {
namespace {

using array = Kokkos::DualView<element*>;

class of_dualview final : public contender {
public:
    way read_at_host() override {
        return {.run =
                    [of = array("array", large)]() mutable {
                        for (std::size_t i = 0; i < accesses; ++i) {
                            of.sync_host();
                            read(of.view_host().data());
                        }
                    },
                .times = accesses};
    }
    way read_at_device() override {
        return {.run =
                    [of = array("array", large)]() mutable {
                        for (std::size_t i = 0; i < accesses; ++i) {
                            of.sync_device();
                            read(of.view_device().data());
                        }
                    },
                .times = accesses};
    }
    way construct() override {
        return {.run =
                    [] {
                        for (std::size_t i = 0; i < accesses; ++i) {
                            const array made(Kokkos::view_alloc("array", Kokkos::WithoutInitializing), large);
                        }
                    },
                .note = "without initializing",
                .times = accesses};
    }
    way change_named() override { return without_device(); }
    way change_unnamed() override { return without_device(); }
    way rewrite(std::size_t) override { return without_device(); }
    way row() override { return without_device(); }
    way column() override { return without_device(); }
    way temporary() override { return without_device(); }
    way many_small() override { return without_device(); }

private:
    static way without_device() { return missing("Debian's Kokkos has no device: nothing moves"); }

    /// Keeps the compiler from leaving an access out.
    static void read(const element* data) { asm volatile("" : : "r"(data) : "memory"); }
};

void run(int argc, char** argv) {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    of_dualview by_dualview;
    play({.peer = "Kokkos DualView",
          .by_peer = &by_dualview,
          .by_unibuf = [](const std::string& placement) { return by_unibuf("opencl:0", placement); }},
         argc, argv);
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
    return peers::guarded([&] { peers::run(argc, argv); });
}
