// conv2d/picture.cpp: reading, scaling and writing, by stb.
#include "picture.hpp"

#include <fmt/format.h>
#include <stb_image.h>
#include <stb_image_resize.h>
#include <stb_image_write.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace conv2d {
namespace {

struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

std::uint8_t as_byte(float grey) noexcept {
    return static_cast<std::uint8_t>(std::lround(std::clamp(grey, 0.0F, 1.0F) * 255));
}

}  // namespace

void picture::convert(std::size_t first, std::span<float> to) const noexcept {
    const auto from = std::span(pixels).subspan(first, to.size());
    std::ranges::transform(from, to.begin(), [](std::uint8_t grey) { return static_cast<float>(grey) / 255; });
}

picture load(const std::filesystem::path& file) {
    const std::unique_ptr<std::FILE, closer> opened(std::fopen(file.c_str(), "rb"));
    if (!opened) {
        throw std::runtime_error(fmt::format("cannot open the picture {}: {}", file.string(), std::strerror(errno)));
    }
    picture result;
    const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> decoded(
        stbi_load_from_file(opened.get(), &result.size.width, &result.size.height, nullptr, STBI_grey),
        &stbi_image_free);
    if (!decoded) {
        throw std::runtime_error(fmt::format("cannot read the picture {}: {}", file.string(), stbi_failure_reason()));
    }
    result.pixels.assign(decoded.get(), decoded.get() + result.size.pixels());
    return result;
}

picture scaled(const picture& from, extent size) {
    const double factor = std::max(static_cast<double>(size.width) / from.size.width,
                                   static_cast<double>(size.height) / from.size.height);
    const double left = (from.size.width - size.width / factor) / 2;
    const double top = (from.size.height - size.height / factor) / 2;
    picture result{size, std::vector<std::uint8_t>(size.pixels())};
    const int done = stbir_resize_region(
        from.pixels.data(), from.size.width, from.size.height, 0, result.pixels.data(), size.width, size.height, 0,
        STBIR_TYPE_UINT8, 1, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_EDGE_CLAMP, STBIR_FILTER_DEFAULT,
        STBIR_FILTER_DEFAULT, STBIR_COLORSPACE_LINEAR, nullptr, static_cast<float>(left / from.size.width),
        static_cast<float>(top / from.size.height), static_cast<float>(1 - left / from.size.width),
        static_cast<float>(1 - top / from.size.height));
    if (done == 0) throw std::runtime_error("the picture cannot be scaled: there is no memory");
    return result;
}

picture visible(std::span<const float> result, extent size, const filter& by) {
    picture shown{size, std::vector<std::uint8_t>(size.pixels())};
    const bool cancels = std::reduce(by.weights.begin(), by.weights.end()) == 0;
    if (!cancels) {
        std::ranges::transform(result, shown.pixels.begin(), as_byte);
        return shown;
    }
    double sum = 0;
    for (const float value : result) sum += std::abs(static_cast<double>(value));
    constexpr double mean_shown = 0.15;
    const auto gain = static_cast<float>(sum > 0 ? mean_shown * static_cast<double>(result.size()) / sum : 0);
    std::ranges::transform(result, shown.pixels.begin(), [&](float value) { return as_byte(std::abs(value) * gain); });
    return shown;
}

void save(const picture& what, const std::filesystem::path& file) {
    errno = 0;
    const std::unique_ptr<std::FILE, closer> opened(std::fopen(file.c_str(), "wb"));
    const auto write = [](void* to, void* bytes, int count) {
        std::fwrite(bytes, 1, static_cast<std::size_t>(count), static_cast<std::FILE*>(to));
    };
    const bool done =
        opened &&
        stbi_write_png_to_func(write, opened.get(), what.size.width, what.size.height, 1, what.pixels.data(), 0) != 0 &&
        std::fflush(opened.get()) == 0 && std::ferror(opened.get()) == 0;
    if (!done) {
        throw std::runtime_error(fmt::format("cannot write the picture {}: {}", file.string(),
                                             errno != 0 ? std::strerror(errno) : "there is no memory"));
    }
}

}  // namespace conv2d
