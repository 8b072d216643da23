#!/usr/bin/env python3
"""container_profile.py SCRIPT: what packaging/containers/allow_userfaultfd.py makes of a runtime's profile."""

import json
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


def main():
    script = sys.argv[1]
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
