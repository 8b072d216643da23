// process/starting_driver.hpp: the end of a process waits for drivers that are starting.
#pragma once

namespace unibuf::process {

/// Says that a driver is starting, as long as this lives. When the main thread ends meanwhile, as where main() returns,
/// that waits for 10 seconds at most: what follows destroys what the driver's libraries have just made, while the
/// driver uses it. An exit by another thread waits for nothing, nor does any where the main thread has not loaded the
/// library.
class starting_driver {
public:
    /// Where the main thread has ended, throws error(device_unavailable), but on other threads after 10 seconds: mostly
    /// the process is gone by then, and nobody expects a failure.
    starting_driver();
    ~starting_driver();
    starting_driver(const starting_driver&) = delete;
    starting_driver& operator=(const starting_driver&) = delete;
};

}  // namespace unibuf::process
