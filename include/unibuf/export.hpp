// unibuf/export.hpp: marks what the shared library exports.
#pragma once

#define UNIBUF_API __attribute__((visibility("default")))
