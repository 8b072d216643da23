// bench/mpi/by_hand.hpp: the ghosts of a line of processes, as a program without the library exchanges them: persistent
// requests, and messages that are packed by a loop, or by the driver's copy of a rectangle.
#pragma once

#include <mpi.h>
#include <unibuf/opencl.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "opencl.hpp"

namespace bench {

/// `count` runs of so many elements, `pitch` elements apart.
struct runs {
    std::size_t count;
    std::size_t length;
    std::size_t pitch;
};

/// An array at the host.
class array_at_host {
public:
    explicit array_at_host(std::size_t elements) : elements_(elements) {}

    void pack(const runs& of, std::size_t first, double* to) const {
        for (std::size_t each = 0; each < of.count; ++each, to += of.length) {
            copy(&elements_[first + each * of.pitch], to, of.length);
        }
    }
    void unpack(const runs& of, std::size_t first, const double* from) {
        for (std::size_t each = 0; each < of.count; ++each, from += of.length) {
            copy(from, &elements_[first + each * of.pitch], of.length);
        }
    }

private:
    static void copy(const double* from, double* to, std::size_t length) {
        if (length == 1) {
            *to = *from;
        } else {
            std::memcpy(to, from, length * sizeof(double));
        }
    }

    std::vector<double> elements_;
};

/// An array on an OpenCL device.
class array_on_device {
public:
    array_on_device(const unibuf::opencl::handles& on, std::size_t elements)
        : queue_(on.queue), memory_(on.context, elements * sizeof(double)) {
        const std::vector<double> zeros(elements);
        opencl::write(queue_, memory_.get(), std::as_bytes(std::span(zeros)));
    }

    void pack(const runs& of, std::size_t first, double* to) const {
        const std::span message(to, of.count * of.length);
        if (of.count == 1) {
            opencl::read(queue_, memory_.get(), std::as_writable_bytes(message), first * sizeof(double));
        } else {
            opencl::read_rectangle(queue_, memory_.get(), std::as_writable_bytes(message).data(), in_bytes(of, first));
        }
    }
    void unpack(const runs& of, std::size_t first, const double* from) {
        const std::span message(from, of.count * of.length);
        if (of.count == 1) {
            opencl::write(queue_, memory_.get(), std::as_bytes(message), first * sizeof(double));
        } else {
            opencl::write_rectangle(queue_, memory_.get(), std::as_bytes(message).data(), in_bytes(of, first));
        }
    }

private:
    static opencl::rectangle in_bytes(const runs& of, std::size_t first) {
        return {.row_bytes = of.length * sizeof(double),
                .rows = of.count,
                .pitch = of.pitch * sizeof(double),
                .offset = first * sizeof(double),
                .packed = true};
    }

    opencl::queue queue_;
    opencl::owned memory_;
};

/// What goes to one neighbour, and comes from there.
struct strip {
    int neighbour = MPI_PROC_NULL;
    std::size_t out = 0;  // where the first run lies that goes
    std::size_t in = 0;   // where the first ghosts lie
};

class exchange_by_hand {
public:
    exchange_by_hand(const std::array<strip, 2>& sides, const runs& each) : sides_(sides), runs_(each) {
        const std::size_t elements = each.count * each.length;
        const int bytes = static_cast<int>(elements * sizeof(double));
        for (std::size_t i = 0; i < 2; ++i) {
            outgoing_[i].resize(elements);
            incoming_[i].resize(elements);
            const int tag = static_cast<int>(i);
            MPI_Recv_init(incoming_[i].data(), bytes, MPI_BYTE, sides[i].neighbour, 1 - tag, MPI_COMM_WORLD,
                          &requests_[i]);
            MPI_Send_init(outgoing_[i].data(), bytes, MPI_BYTE, sides[i].neighbour, tag, MPI_COMM_WORLD,
                          &requests_[2 + i]);
        }
    }
    ~exchange_by_hand() {
        for (MPI_Request& each : requests_) MPI_Request_free(&each);
    }
    exchange_by_hand(const exchange_by_hand&) = delete;
    exchange_by_hand& operator=(const exchange_by_hand&) = delete;

    template <class Array>
    void operator()(Array& field) {
        for (std::size_t i = 0; i < 2; ++i) {
            if (sides_[i].neighbour != MPI_PROC_NULL) field.pack(runs_, sides_[i].out, outgoing_[i].data());
        }
        MPI_Startall(4, requests_.data());
        MPI_Waitall(4, requests_.data(), MPI_STATUSES_IGNORE);
        for (std::size_t i = 0; i < 2; ++i) {
            if (sides_[i].neighbour != MPI_PROC_NULL) field.unpack(runs_, sides_[i].in, incoming_[i].data());
        }
    }

private:
    std::array<strip, 2> sides_;
    runs runs_;
    std::array<std::vector<double>, 2> outgoing_, incoming_;
    std::array<MPI_Request, 4> requests_{};
};

}  // namespace bench
