// tests/contract/cuda_test.cpp: CUDA passes the suite.
#include "contract/contract.hpp"
#include "doubles/cuda/loaded.hpp"

UNIBUF_CONTRACT(cuda, "cuda:0");
