// A page that is opened from a file cannot load others, of which it would show the beginnings beside what it found.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
