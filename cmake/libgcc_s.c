/* The unwinder of glibc's systems, which a wheel takes in the place of the one that zig would put inside it. Python
   before 3.14 may end a thread by pthread_exit, which unwinds by libgcc_s: handlers that ask another unwinder what it
   has found end the process. Only the names count: this becomes a library that wheels are linked by, and is never run.
 */
#define OF_THE_SYSTEM(name) \
    void name(void) {}

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
