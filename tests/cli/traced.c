// tests/cli/traced.c: a program with debugging information, which copies in two lines.
#include <unibuf/unibuf.h>

int main(void) {
    unibuf_space device = UNIBUF_NO_SPACE;
    unibuf_buffer* field = NULL;
    float first = 0;
    const float one = 1;
    if (unibuf_find_space("debug:0", &device) || unibuf_create(4000, NULL, &field)) return 1;
    if (unibuf_fill(field, &one, sizeof one) || unibuf_copy_to(field, &first, sizeof first, 0)) return 1;
    if (unibuf_prefetch(field, device, NULL)) return 1;  // this line brings the bytes there,
    if (unibuf_mark_dirty(field, device, NULL)) return 1;
    if (unibuf_copy_to(field, &first, sizeof first, 0)) return 1;  // and this one some back
    unibuf_destroy(field);
    return first == 1 ? 0 : 1;
}
