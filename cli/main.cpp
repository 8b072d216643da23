// cli/main.cpp: unibuf, the command-line tool.
#include "tool.hpp"

int main(int argc, char** argv) { return unibuf_cli::run_tool(argc, argv); }
