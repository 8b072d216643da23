// unibuf/unibuf.hpp: all of unibuf, but for the native handles of each API.
#pragma once

#include "unibuf/accelerator.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/host_view.hpp"
#include "unibuf/lease.hpp"
#include "unibuf/memory_pool.hpp"
#include "unibuf/options.hpp"
#include "unibuf/registry.hpp"
#include "unibuf/shape.hpp"
#include "unibuf/space.hpp"
#include "unibuf/state.hpp"
#include "unibuf/statistics.hpp"
#include "unibuf/transfer_cost.hpp"
#include "unibuf/unified_buffer.hpp"
