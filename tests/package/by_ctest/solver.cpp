// tests/package/by_ctest/solver.cpp: moves 400,000 bytes each way.
#include <unibuf/unibuf.hpp>

int main() {
    unibuf::unified_buffer<float> field({100'000});
    field.fill(1);
    field.read("host").release();
    for (float& each : field.read_write("debug:0")) each += 1;
    return field.read("host")[7] == 2 ? 0 : 1;
}
