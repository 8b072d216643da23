#!/usr/bin/env python3
"""allow_userfaultfd.py PROFILE: prints a seccomp profile of Docker's or Podman's, in which userfaultfd(2) is allowed.

It is allowed for faults of user mode alone (UFFD_USER_MODE_ONLY), which is what unibuf asks for, and which the kernel
gives to every user. All else stays as PROFILE has it. Podman's own is /usr/share/containers/seccomp.json.
"""

import json
import sys
from pathlib import Path

USER_MODE_ONLY = 1  # UFFD_USER_MODE_ONLY of <linux/userfaultfd.h>
NAME = "userfaultfd"


def allowed(profile):
    """Returns the profile with the rule, which takes the place of all others about the call."""
    rules = []
    for rule in profile["syscalls"]:
        names = [each for each in rule["names"] if each != NAME]
        if names:
            rules.append({**rule, "names": names})
    bit = {"index": 0, "value": USER_MODE_ONLY, "valueTwo": USER_MODE_ONLY, "op": "SCMP_CMP_MASKED_EQ"}
    rules.append({"names": [NAME], "action": "SCMP_ACT_ALLOW", "args": [bit]})
    return {**profile, "syscalls": rules}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        profile = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        result = allowed(profile)
    except OSError as failure:
        sys.exit(f"{sys.argv[1]}: {failure.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit(f"{sys.argv[1]} is no seccomp profile: an object with a list of rules, `syscalls`, was expected")
    print(json.dumps(result, indent=2))


main()
