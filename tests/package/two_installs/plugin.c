// A plugin that looks for the program's buffer, and makes one.
#include <stdio.h>
#include <unibuf/unibuf.h>

void plugin(void);

void plugin(void) {
    unibuf_buffer* own = NULL;
    unibuf_buffer* found = NULL;
    char first = 0;
    if (unibuf_create(4096, NULL, &own) != UNIBUF_OK || unibuf_find("shared", &found) != UNIBUF_OK ||
        unibuf_copy_to(found, &first, 1, 0) != UNIBUF_OK) {
        printf("the plugin is refused: %s\n", unibuf_message());
    } else {
        printf("the plugin finds %d\n", first);
    }
    unibuf_destroy(found);
    unibuf_destroy(own);
}
