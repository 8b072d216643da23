"""Where PyDotCompute has its buffers, pools and devices."""
