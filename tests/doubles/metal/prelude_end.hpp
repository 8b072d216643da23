// doubles/metal/prelude_end.hpp: put behind a kernel's source: its words are C++ again.
#undef kernel
#undef device
#undef constant
#undef thread
