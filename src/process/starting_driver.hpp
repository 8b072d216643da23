// process/starting_driver.hpp: the end of a process waits for drivers that are starting.
#pragma once

namespace unibuf::process {

/// Says that a driver is starting, as long as this lives. When the main thread ends meanwhile, as at an exit, that
/// waits for 10 seconds at most: an exit destroys what the driver's libraries have just made, while the driver uses it.
class starting_driver {
public:
    /// Throws error(device_unavailable) where the main thread has ended.
    starting_driver();
    ~starting_driver();
    starting_driver(const starting_driver&) = delete;
    starting_driver& operator=(const starting_driver&) = delete;
};

}  // namespace unibuf::process
