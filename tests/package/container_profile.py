#!/usr/bin/env python3
"""container_profile.py FOLDER: the profiles of packaging/containers, the shipped one and what its script makes."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROFILE = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "defaultErrnoRet": 38,
    "syscalls": [
        {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW", "args": []},
        {"names": ["bpf", "userfaultfd"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        {"names": ["userfaultfd"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_PTRACE"]}},
    ],
}


def run(script, file):
    return subprocess.run([sys.executable, script, file], capture_output=True, text=True, check=False)


def refuses(profile, name, first):
    """Returns the error that the call gets with its first argument; None where it is allowed."""
    for rule in profile["syscalls"]:
        masked = [(each["value"], each.get("valueTwo"), each["op"]) for each in rule.get("args", [])]
        assert all(op in ("SCMP_CMP_MASKED_EQ", "SCMP_CMP_EQ") for _, _, op in masked), rule
        holds = all(first == value if op == "SCMP_CMP_EQ" else first & value == two for value, two, op in masked)
        if name in rule["names"] and holds:
            return rule["errnoRet"]
    return None


def check_shipped(profile):
    """Kubernetes reads no conditions, so what is shipped has none; nor does it need rules to be in an order."""
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    for rule in profile["syscalls"]:
        assert set(rule) <= {"names", "action", "errnoRet", "args"} and rule["action"] == "SCMP_ACT_ERRNO", rule
        assert rule["names"] == sorted(set(rule["names"])), rule
    assert refuses(profile, "userfaultfd", 1) is None and refuses(profile, "userfaultfd", 0x80801) is None
    assert refuses(profile, "userfaultfd", 0) == refuses(profile, "userfaultfd", 0x80800) == errno.EPERM
    for allowed in ("ioctl", "mmap", "read", "ptrace", "process_vm_readv"):
        assert refuses(profile, allowed, 0) is None, allowed
    for refused in ("mount", "bpf", "unshare", "setns", "kexec_load", "init_module", "perf_event_open"):
        assert refuses(profile, refused, 0) == errno.EPERM, refused
    flags = [getattr(os, each) for each in dir(os) if each.startswith("CLONE_NEW") and each != "CLONE_NEWTIME"]
    for flag in flags or [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]:
        assert refuses(profile, "clone", flag | 17) == errno.EPERM, flag
    assert refuses(profile, "clone", 17) is None, "fork"
    assert refuses(profile, "clone", 0x3D0F00) is None, "a thread of glibc"
    assert refuses(profile, "clone3", 0) == errno.ENOSYS, "glibc takes clone then"


def main():
    folder = Path(sys.argv[1])
    check_shipped(json.loads((folder / "unibuf.json").read_text(encoding="utf-8")))
    script = folder / "allow_userfaultfd.py"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile of a runtime.json"
        file.write_text(json.dumps(PROFILE))
        made = json.loads(run(script, file).stdout)
        *others, added = made.pop("syscalls")
        assert made == {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38}, made
        assert others == [PROFILE["syscalls"][0], {**PROFILE["syscalls"][1], "names": ["bpf"]}], others
        assert added["names"] == ["userfaultfd"] and added["action"] == "SCMP_ACT_ALLOW", added
        assert added["args"] == [{"index": 0, "value": 1, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}], added

        for text in ("", "[]", "{}", '{"syscalls": [3]}', '{"syscalls": [{"names": 3}]}', "\udcff"):
            file.write_bytes(text.encode(errors="surrogateescape"))
            refused = run(script, file)
            assert refused.returncode == 1 and not refused.stdout, (text, refused)
            assert "is no seccomp profile" in refused.stderr and refused.stderr.count("\n") == 1, (text, refused.stderr)
        missing = run(script, Path(folder) / "missing")
        assert missing.returncode == 1 and "No such file" in missing.stderr, missing


main()
