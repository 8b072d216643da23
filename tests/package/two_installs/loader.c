// loader LIBRARY...: loads the libraries in this order, and calls those that are plugins.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void (*plugin)(void) = NULL;
        if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void**)&plugin = dlsym(library, "plugin");
        if (plugin) plugin();
    }
    return 0;
}
