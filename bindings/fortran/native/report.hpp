// report.hpp: how a call ends: with `stat` and `errmsg`, or with the program.
#pragma once

#include <ISO_Fortran_binding.h>

#include <string_view>

#include "../../c/attempt.hpp"

namespace unibuf::fortran {

/// Returns the text of a character dummy, without the blanks at its end; empty where it is absent.
std::string_view text_of(const CFI_cdesc_t* characters) noexcept;

/// Puts a text into a character dummy, cut or filled with blanks; does nothing where it is absent.
void put_text(std::string_view text, CFI_cdesc_t* characters) noexcept;

/// Returns the message of this thread's last failure, until the next one. It names procedures as Fortran does.
std::string_view message() noexcept;

/// Tells of a failure by `stat` and `errmsg`; without `stat` the program stops.
void report_failure(unibuf_status failure, int* stat, CFI_cdesc_t* errmsg) noexcept;

/// Returns whether the machine lacks what was asked for, rather than the program asking nonsense.
bool is_about_the_machine(unibuf_status failure) noexcept;

template <class Work>
void carry_out(int* stat, CFI_cdesc_t* errmsg, const Work& work) noexcept {
    const unibuf_status ended = c::attempt(work);
    if (stat) *stat = ended;
    if (ended != UNIBUF_OK) report_failure(ended, stat, errmsg);
}

/// Carries out a call whose result shows what the machine lacks: an invalid buffer, a null pointer. It stops the
/// program for other failures only.
template <class Work>
void try_out(int* stat, CFI_cdesc_t* errmsg, const Work& work) noexcept {
    const unibuf_status ended = c::attempt(work);
    if (stat) *stat = ended;
    if (ended != UNIBUF_OK && (stat || !is_about_the_machine(ended))) report_failure(ended, stat, errmsg);
}

}  // namespace unibuf::fortran
