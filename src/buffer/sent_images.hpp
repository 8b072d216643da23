// buffer/sent_images.hpp: images of bytes of the host's copy, which are sent in their place.
//
// What is found by comparing contents is sent as it was compared (tracking/host_writes.hpp). An image stays as it is
// until the device has taken it, which may be after the call, and after the end of all pointers. It is the one that the
// contents are compared with, or, where bytes are sent with others, a copy.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/directory.hpp"
#include "coherence/region.hpp"
#include "containers/few.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::detail {

class host_writes;
struct guarded;

/// The images of one buffer. The memory of copies is used again. The buffer's lock guards all of it.
class sent_images {
    struct image;

public:
    /// A part up to this size becomes one image, also where some of it only is compared: that costs less than a call of
    /// the driver for each piece.
    static constexpr std::size_t most_in_one = 32 << 10;

    /// An image that is about to be sent.
    class sending {
    public:
        explicit sending(image& of) noexcept : image_(&of) {}
        ~sending();
        sending(sending&& other) noexcept : image_(std::exchange(other.image_, nullptr)) {}
        sending& operator=(sending&& other) noexcept;

        const region& part() const noexcept;

        /// Returns the bytes of the part's hull.
        const std::byte* bytes() const noexcept;

        /// Sends the part to its place in `to`. Needs no lock.
        fence send(backends::memory& to, queue on) const;

        /// Returns whether a digest of it is kept, which tells what devices have.
        bool digested() const noexcept;

        /// Notes that the device has taken the image when `done` is.
        void is_taken_by(const fence& done) noexcept;

    private:
        image* image_;
    };

    sent_images() = default;
    sent_images(const sent_images&) = delete;
    sent_images& operator=(const sent_images&) = delete;

    /// Waits until the devices have taken all images.
    ~sent_images() {
        if (!all_.empty()) wait();
    }

    /// Takes the image of `part`, and of all of its hull.
    sending take(const host_writes& from, const region& part);

    /// Takes the image of `blocks`, and keeps their digests.
    sending take_digested(host_writes& from, byte_range blocks);

    /// Gives back the memory of copies that have been taken.
    void forget_taken() noexcept;

private:
    struct image {
        std::shared_ptr<const std::byte> compared_with;  // null where it is a copy
        std::unique_ptr<std::byte[]> copy;
        std::size_t room = 0;  // of the copy
        region part{};
        fence taken{};
        bool in_use = false;
        bool digested = false;

        const std::byte* bytes() const noexcept { return compared_with ? compared_with.get() : copy.get(); }
    };

    image& unused(std::size_t bytes);
    void wait() noexcept;

    std::list<image> all_;  // in the order of their sending
};

using part_list = few<region, 2>;
using image_list = few<sent_images::sending, 1>;

/// Takes images of those parts of the host's copy that are to be sent to `device` from one, out of `parts` into `to`. A
/// part that is small becomes one image, and of a range the pieces between images stay, for which `in` is cut. Of a
/// large rectangle all is sent as it is, in one call, and what should have been an image is sent once more by the next
/// access.
void take_images(guarded& state, coherence::directory::promise& in, coherence::space_id device, part_list& parts,
                 image_list& to);

/// Notes that `part` is about to go to a device as it is in the memory: what should have been sent from images is sent
/// once more by the next access. REQUIRES: pointers are out.
void send_as_it_is(guarded& state, const region& part);

/// Returns the moves of `parts`, of which the last ones are sent from `images`, for a call that does them all; none
/// where some part is no range.
std::vector<backends::move_of> moves_of(const part_list& parts, const image_list& images, backends::memory& host,
                                        backends::memory& to);

}  // namespace unibuf::detail
