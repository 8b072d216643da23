// tests/refuse.cpp: refuse NAMES PROGRAM [ARGUMENT...]: runs a program to which system calls are refused, as
// support/refusals.hpp names them. Its status is the program's; 77 where the kernel takes no filter.
#include <unistd.h>

#include <cstdio>

#include "support/refusals.hpp"

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("refuse NAMES PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (!unibuf::test::refuse(argv[1])) {
        std::perror("refuse");
        return 77;
    }
    ::execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    return 127;
}
