#include <unibuf/unibuf.hpp>

int main() {
    unibuf::unified_buffer<float> numbers({2, 3});
    numbers.fill(1.0F);
    return numbers.read("host")[0] == 1.0F ? 0 : 1;
}
