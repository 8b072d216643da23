// program PLUGIN: names a buffer, loads a plugin that looks for it, and says what both find.
#include <dlfcn.h>
#include <stdio.h>
#include <unibuf/unibuf.h>

int main(int argc, char** argv) {
    unibuf_buffer* buffer = NULL;
    if (argc != 2 || unibuf_create(4096, NULL, &buffer) != UNIBUF_OK) return 1;
    if (unibuf_register("shared", buffer, false) != UNIBUF_OK || unibuf_fill(buffer, "\5", 1) != UNIBUF_OK) return 1;

    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void (*plugin)(void) = NULL;
    if (library) *(void**)&plugin = dlsym(library, "plugin");
    if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 1;
    plugin();

    char first = 0;
    if (unibuf_copy_to(buffer, &first, 1, 0) != UNIBUF_OK) return 1;
    printf("the program finds %d\n", first);
    unibuf_destroy(buffer);
    return 0;
}
