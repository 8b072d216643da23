# shellcheck shell=bash
# checks.sh: functions of scripts that check a machine part by part, which source it. They set `build`, a folder.
# shellcheck disable=SC2154

rows=()
failed=0

title() { printf '\n== %s\n' "$1"; }

# row VERDICT PART WORDS: of the last table.
row() {
    rows+=("$(printf '%-6s  %-17s  %s' "$1" "$2" "$3")")
    [[ $1 != FAIL ]] || failed=1
}

# run PART COMMAND...: its output is shown; a row says how it ended, with its last line.
run() {
    local part=$1 log=$build/$1.log status=0
    shift
    title "$part"
    "$@" 2>&1 | tee "$log" || status=$?
    if ((status == 0)); then row OK "$part" "$(tail -n 1 "$log")"; else row FAIL "$part" "$(tail -n 1 "$log")"; fi
    return "$status"
}

finish() {
    title summary
    printf '%s\n' "${rows[@]}"
    exit "$failed"
}
