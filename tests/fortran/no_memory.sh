#!/bin/sh
# no_memory.sh COMPILER MODULES: what has no memory of its own cannot be given to create_buffer_over.
set -u
compiler=$1
modules=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# compiles ARGUMENT: returns whether a program that gives it compiles, and leaves the compiler's text in $work/said.
compiles() {
    cat > "$work/program.f90" <<PROGRAM
program given
  use gpu_unified_buffers
  implicit none
  real, parameter :: constant(2) = [1.0, 2.0]
  real, target :: array(3)
  type(unified_buffer) :: buffer
  buffer = create_buffer_over($1, BUFFER_READ_WRITE)
end program given
PROGRAM
    "$compiler" -fsyntax-only -I "$modules" "$work/program.f90" > "$work/said" 2>&1
}

for argument in 'array' 'array(1:2)'; do
    compiles "$argument" || { echo "$argument is refused:"; cat "$work/said"; failed=1; }
done
for argument in '[1.0, 2.0]' 'array + 1' '(array)' 'constant' 'array([1, 3])'; do
    compiles "$argument" && { echo "$argument is taken"; failed=1; }
    grep -qi 'variable definition context\|intent' "$work/said" || { echo "$argument:"; cat "$work/said"; failed=1; }
done
exit $failed
