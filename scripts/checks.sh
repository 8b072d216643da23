# shellcheck shell=bash
# checks.sh: functions of scripts that check a machine part by part, which source it. They set `build`, a folder.
# ONLY, where somebody sets it, names the parts that are run, with spaces between.
# shellcheck disable=SC2154

rows=()
named=' '
failed=0

title() { printf '\n== %s\n' "$1"; }

# row VERDICT PART WORDS: of the last table.
row() {
    rows+=("$(printf '%-6s  %-17s  %s' "$1" "$2" "$3")")
    named+="$2 "
    [[ $1 != FAIL ]] || failed=1
}

is_asked_for() { [[ -z ${ONLY:-} || " $ONLY " == *" $1 "* ]]; }

# run PART COMMAND...: its output is shown; a row says how it ended, with its seconds and its last line.
run() {
    local part=$1 log=$build/$1.log status=0 begin=$SECONDS said
    shift
    is_asked_for "$part" || return 0
    title "$part"
    "$@" 2>&1 | tee "$log" || status=$?
    said="$((SECONDS - begin)) s: $(tail -n 1 "$log")"
    if ((status == 0)); then row OK "$part" "$said"; else row FAIL "$part" "$said"; fi
    return "$status"
}

finish() {
    local each
    for each in ${ONLY:-}; do
        [[ $named == *" $each "* ]] || row FAIL "$each" "ONLY names it, and it was not run"
    done
    title summary
    printf '%s\n' "${rows[@]}"
    exit "$failed"
}
