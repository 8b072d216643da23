/* What a wheel takes of the system that zig would put inside it: the C library's copies, which are made for each
   processor, and its unwinder. Python may end a thread by pthread_exit, which unwinds by libgcc_s: handlers that ask
   another unwinder what it has found end the process. Only the names count; this is compiled into a library by which the
   wheel is linked, and never run. */
#define OF_THE_SYSTEM(name) \
    void name(void) {}

OF_THE_SYSTEM(memcmp)
OF_THE_SYSTEM(memcpy)
OF_THE_SYSTEM(memmove)
OF_THE_SYSTEM(memset)
OF_THE_SYSTEM(_Unwind_Backtrace)
OF_THE_SYSTEM(_Unwind_DeleteException)
OF_THE_SYSTEM(_Unwind_FindEnclosingFunction)
OF_THE_SYSTEM(_Unwind_GetCFA)
OF_THE_SYSTEM(_Unwind_GetDataRelBase)
OF_THE_SYSTEM(_Unwind_GetGR)
OF_THE_SYSTEM(_Unwind_GetIP)
OF_THE_SYSTEM(_Unwind_GetIPInfo)
OF_THE_SYSTEM(_Unwind_GetLanguageSpecificData)
OF_THE_SYSTEM(_Unwind_GetRegionStart)
OF_THE_SYSTEM(_Unwind_GetTextRelBase)
OF_THE_SYSTEM(_Unwind_RaiseException)
OF_THE_SYSTEM(_Unwind_Resume)
OF_THE_SYSTEM(_Unwind_Resume_or_Rethrow)
OF_THE_SYSTEM(_Unwind_SetGR)
OF_THE_SYSTEM(_Unwind_SetIP)
