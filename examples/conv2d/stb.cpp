// conv2d/stb.cpp: the bodies of the stb libraries, which are headers.
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_PNM  // its reader takes a file that ends too soon for a whole one
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_resize.h>
#include <stb_image_write.h>
