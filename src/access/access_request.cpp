// access/access_request.cpp: what messages say of an access, and which queue it means.
#include "access/access_request.hpp"

#include <fmt/format.h>

#include "buffer/core.hpp"

namespace unibuf::detail {

std::string describe(const access_request& request) {
    if (!request.verb) return describe(hold{.part = request.part, .where = request.where, .what = request.what});
    return fmt::format("{} {} at {}", request.verb, describe(request.part), request.where.name());
}

queue queue_at(const access_request& request, coherence::space_id executor) noexcept {
    const space whose = request.where == host ? request.queue_of : request.where;
    return whose == host || executor == whose.id() ? request.on.handle : queue();
}

void rethrow_naming_access(const core& of, const access_request& request, const error& failure) {
    throw error(failure.code(),
                fmt::format("{}: {} was asked for: {}", of.name(), describe(request), failure.message()));
}

}  // namespace unibuf::detail
