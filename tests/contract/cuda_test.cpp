// tests/contract/cuda_test.cpp: CUDA passes the suite: the double, or with UNIBUF_REAL_CUDA=1 a real driver. What is
// special about it stands in the folder cuda.
#include "contract/contract.hpp"
#include "doubles/cuda/loaded.hpp"

UNIBUF_CONTRACT(cuda, "cuda:0");
