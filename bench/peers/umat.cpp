// peers/umat.cpp: OpenCV's UMat. On a device without memory of its own OpenCV maps for the host; with --copying it
// copies, as it does on a card.
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <opencv2/core.hpp>
#include <opencv2/core/bufferpool.hpp>
#include <opencv2/core/ocl.hpp>
#include <stdexcept>
#include <vector>

#include "by_unibuf.hpp"
#include "device.hpp"

namespace peers {
namespace {

_cl_mem* memory(const cv::UMat& of, cv::AccessFlag how) { return static_cast<_cl_mem*>(of.handle(how)); }

element& at(cv::Mat& of, std::size_t row, std::size_t column) {
    return *of.ptr<element>(static_cast<int>(row), static_cast<int>(column));
}

std::uint64_t sum_of(const cv::Mat& of) {
    std::uint64_t sum = 0;
    for (int row = 0; row < of.rows; ++row) {
        const auto* const elements = of.ptr<element>(row);
        sum = std::accumulate(elements, elements + of.cols, sum);
    }
    return sum;
}

class of_umat final : public contender {
public:
    of_umat(const unibuf::opencl::handles& on, bool is_copying) : is_copying_(is_copying), device_(on) {}

    way read_at_host() override {
        const std::size_t times = is_copying_ ? 1 : accesses;
        return {.run =
                    [of = made(side, side), times] {
                        for (std::size_t i = 0; i < times; ++i) const cv::Mat read = of.getMat(cv::ACCESS_READ);
                    },
                .note = is_copying_ ? "getMat, which brings all each time" : "getMat, which maps and unmaps",
                .times = times};
    }
    way read_at_device() override {
        return {.run =
                    [of = made(side, side)] {
                        for (std::size_t i = 0; i < accesses; ++i) memory(of, cv::ACCESS_READ);
                    },
                .note = "handle",
                .times = accesses};
    }
    way construct() override {
        return {.run =
                    [] {
                        for (std::size_t i = 0; i < accesses; ++i) const cv::UMat made(side, side, CV_32SC1);
                    },
                .times = accesses};
    }
    way change_named() override;
    way change_unnamed() override;
    way rewrite(std::size_t count) override;
    way row() override { return of_square(cv::Rect(0, changed_row, side, 1)); }
    way column() override { return of_square(cv::Rect(changed_column, 0, 1, side)); }
    way temporary() override;
    way many_small() override;

private:
    /// Returns a matrix that is current at both.
    cv::UMat made(int rows, int columns) {
        cv::UMat result(rows, columns, CV_32SC1);
        result.getMat(cv::ACCESS_WRITE) = cv::Scalar(1);
        use(result);
        device_.finish();
        result.getMat(cv::ACCESS_READ);
        return result;
    }

    /// Returns what a program keeps at the host where getMat copies.
    cv::Mat kept(int rows, int columns) const {
        return is_copying_ ? cv::Mat(rows, columns, CV_32SC1, cv::Scalar(1)) : cv::Mat();
    }

    /// Calls change(all elements) at the host, and brings them to the device. getMat for writing reads all before.
    template <class Change>
    void write(cv::UMat& of, cv::Mat& at_host, Change change) {
        if (is_copying_) {
            change(at_host);
            at_host.copyTo(of);
        } else {
            change(of.getMat(cv::ACCESS_RW));
        }
    }
    const char* how_all_is_written() const { return is_copying_ ? "copyTo of all" : "getMat of all"; }

    void use(const cv::UMat& of, std::size_t first = 0) {
        device_.look(memory(of, cv::ACCESS_READ), of.total(), first);
    }

    way of_square(const cv::Rect& part) {
        auto sum = std::make_shared<std::uint64_t>(0);
        const cv::UMat square = made(side, side);
        const auto read_part = [this, square, part, sum, to = cv::Mat(part.size(), CV_32SC1)] {
            if (is_copying_) {
                square(part).copyTo(to);
                *sum = sum_of(to);
            } else {
                *sum = sum_of(square.getMat(cv::ACCESS_READ)(part));
            }
        };
        return {.run = read_part,
                .result = [sum] { return *sum; },
                .prepare =
                    [this, square, value = element{0}]() mutable {
                        device_.touch(memory(square, cv::ACCESS_RW), large, ++value);
                        device_.finish();
                    },
                .note = is_copying_ ? "copyTo of a part" : "getMat of all"};
    }

    bool is_copying_;
    device device_;
};

way of_umat::change_named() {
    const auto by_part = [this, of = made(side, side), one = cv::Mat(1, 1, CV_32SC1), value = element{1}]() mutable {
        at(one, 0, 0) = ++value;
        one.copyTo(of(cv::Rect(changed_column, changed_row, 1, 1)));
        use(of);
        device_.finish();
    };
    return {.run = by_part, .result = [this] { return device_.seen(pages(large)); }, .note = "copyTo of one element"};
}

way of_umat::change_unnamed() {
    return {.run =
                [this, of = made(side, side), at_host = kept(side, side), value = element{1}]() mutable {
                    write(of, at_host, [&](cv::Mat all) { at(all, changed_row, changed_column) = ++value; });
                    use(of);
                    device_.finish();
                },
            .result = [this] { return device_.seen(pages(large)); },
            .note = how_all_is_written()};
}

way of_umat::rewrite(std::size_t count) {
    const int rows = static_cast<int>(count / page);
    return {.run =
                [this, of = made(rows, page), at_host = kept(rows, page), value = 1]() mutable {
                    write(of, at_host, [&](cv::Mat all) { all = cv::Scalar(++value); });
                    use(of);
                    device_.finish();
                },
            .result = [this, count] { return device_.seen(pages(count)); },
            .note = how_all_is_written()};
}

way of_umat::temporary() {
    return {.run =
                [this, value = element{0}]() mutable {
                    for (std::size_t i = 0; i < temporaries; ++i) {
                        const cv::UMat made(middle / page, page, CV_32SC1, cv::USAGE_ALLOCATE_DEVICE_MEMORY);
                        device_.touch(memory(made, cv::ACCESS_WRITE), middle, ++value);
                        use(made);
                    }
                    device_.finish();
                },
            .result = [this] { return device_.seen(pages(middle)); },
            .note = "OpenCV's pool of buffers is on",
            .times = temporaries};
}

way of_umat::many_small() {
    struct pair {
        cv::UMat array;
        cv::Mat at_host;
    };
    auto all = std::make_shared<std::vector<pair>>();
    for (std::size_t i = 0; i < small_buffers; ++i) {
        all->push_back({cv::UMat(1, static_cast<int>(small), CV_32SC1), kept(1, static_cast<int>(small))});
    }
    return {.run =
                [this, all, value = 0]() mutable {
                    ++value;
                    for (std::size_t i = 0; i < all->size(); ++i) {
                        pair& each = (*all)[i];
                        write(each.array, each.at_host, [&](cv::Mat elements) { elements = cv::Scalar(value); });
                        use(each.array, i);
                    }
                    device_.finish();
                },
            .result = [this] { return device_.seen(small_buffers); },
            .note = how_all_is_written(),
            .times = small_buffers};
}

void run(int argc, char** argv) {
    const bool is_copying = argc > 1 && std::strcmp(argv[1], "--copying") == 0;
    if (is_copying) ::setenv("OPENCV_OPENCL_BUFFER_FORCE_COPYING", "1", 1);
    ::setenv("OPENCV_OPENCL_DEVICE", ":CPU:", 0);
    cv::ocl::setUseOpenCL(true);
    const cv::ocl::Context& context = cv::ocl::Context::getDefault();
    if (!cv::ocl::useOpenCL() || context.empty()) throw std::runtime_error("OpenCV finds no OpenCL device");
    cv::ocl::getOpenCLAllocator()->getBufferPoolController()->setMaxReservedSize(std::size_t{128} << 20U);
    const unibuf::opencl::handles on{static_cast<_cl_context*>(context.ptr()),
                                     static_cast<_cl_device_id*>(cv::ocl::Device::getDefault().ptr()),
                                     static_cast<_cl_command_queue*>(cv::ocl::Queue::getDefault().ptr())};
    const unibuf::space where = unibuf::opencl::use(on.context, on.device, on.queue);
    of_umat by_umat(on, is_copying);
    play({.peer = is_copying ? "OpenCV UMat, copying" : "OpenCV UMat",
          .by_peer = &by_umat,
          .by_unibuf = [where](const std::string& placement) { return by_unibuf(where, placement); }},
         argc - is_copying, argv + is_copying);
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
    return peers::guarded([&] { peers::run(argc, argv); });
}
