// conv2d/job.hpp: the convolution of one picture, as a space and a mode do it.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "conv2d.hpp"
#include "tally.hpp"
#include "unibuf/unified_buffer.hpp"

namespace conv2d {

/// A picture's convolution is made once and done often.
class job {
public:
    job() = default;
    virtual ~job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    /// Lets the application write `count` pixels of its picture, from `first` on.
    virtual void write(std::size_t first, std::size_t count, const std::function<void(std::span<float>)>& writer) = 0;

    virtual void convolve() = 0;

    /// Lets the application read the result.
    virtual void read(const std::function<void(std::span<const float>)>& reader) = 0;
};

/// A job whose application has arrays. What works on them may copy.
class job_on_arrays : public job {
public:
    job_on_arrays(tally& counts, extent size);

    void write(std::size_t first, std::size_t count, const std::function<void(std::span<float>)>& writer) final;
    void read(const std::function<void(std::span<const float>)>& reader) final;

protected:
    tally& counts() const noexcept { return counts_; }
    std::span<const float> input() const noexcept { return input_.span(); }
    std::span<float> output() const noexcept { return output_.span(); }
    std::size_t bytes() const noexcept { return input().size_bytes(); }

private:
    tally& counts_;
    pixel_array input_;
    pixel_array output_;
};

/// A job whose application has unified buffers.
class job_on_buffers : public job {
public:
    job_on_buffers(unibuf::space where, extent size);

    void write(std::size_t first, std::size_t count, const std::function<void(std::span<float>)>& writer) final;
    void read(const std::function<void(std::span<const float>)>& reader) final;

protected:
    unibuf::space where() const noexcept { return where_; }
    unibuf::unified_buffer<float>& input() noexcept { return input_; }
    unibuf::unified_buffer<float>& output() noexcept { return output_; }

private:
    unibuf::space where_;
    unibuf::unified_buffer<float> input_;
    unibuf::unified_buffer<float> output_;
};

/// The parts that a job is made of.
struct order {
    unibuf::space where;
    mode how;
    const filter& by;
    extent size;
    tally& counts;
};

template <class Copying, class Careful, class ZeroCopy>
std::unique_ptr<job> make_job_of(const order& of) {
    switch (of.how) {
        case mode::copying:
            return std::make_unique<Copying>(of);
        case mode::careful:
            return std::make_unique<Careful>(of);
        case mode::zero_copy:
            break;
    }
    return std::make_unique<ZeroCopy>(of);
}

// Each is in the file of that name.
namespace host {
std::unique_ptr<job> make_job(const order& of);
}
namespace cuda {
std::unique_ptr<job> make_job(const order& of);
}
namespace metal {
std::unique_ptr<job> make_job(const order& of);
}
namespace opencl {
std::unique_ptr<job> make_job(const order& of);
}
namespace opengl {
std::unique_ptr<job> make_job(const order& of);
}

}  // namespace conv2d
