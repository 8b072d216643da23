#include <unibuf/unibuf.h>

int main(void) {
    unibuf_buffer* numbers = NULL;
    const float one = 1;
    float got = 0;
    if (unibuf_create(6 * sizeof(float), NULL, &numbers) != UNIBUF_OK) return 1;
    if (unibuf_fill(numbers, &one, sizeof one) != UNIBUF_OK) return 1;
    if (unibuf_copy_to(numbers, &got, sizeof got, 8) != UNIBUF_OK) return 1;
    unibuf_destroy(numbers);
    return got > 0 ? 0 : 1;
}
