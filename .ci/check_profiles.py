"""Checks that Go's pprof reads what a run left: `check_profiles.py OUT LABEL`.

Each profile must open, hold samples, and name functions: the programs' own among them, and no bare addresses at the top.
"""

import re
import subprocess
import sys
from pathlib import Path

KINDS = {"cpu": "cpu", "allocs": "alloc_space", "heap": "inuse_space"}
FRAMEWORKS = ("triple", "grpc")
ROW = re.compile(r"^\s*\S+\s+[\d.]+%\s+[\d.]+%\s+\S+\s+[\d.]+%\s+(?P<function>.+)$")


def problem_of(path, sample_type):
    command = ["go", "tool", "pprof", "-top", "-nodecount=40", f"-sample_index={sample_type}", str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return f"pprof exits {done.returncode}: {done.stderr.strip()[-500:]}"
    functions = [row["function"] for row in map(ROW.match, done.stdout.splitlines()) if row]
    if not functions:
        return f"no functions:\n{done.stdout[:1000]}"
    unnamed = [name for name in functions[:10] if re.fullmatch(r"(0x)?[0-9a-f]+|\[?unknown\]?|<unknown>", name)]
    if unnamed:
        return f"without a name among the first ten: {unnamed}"
    if not any("::" in name for name in functions):
        return f"no Rust function among {functions[:10]}"
    return ""


def main():
    folder = Path(sys.argv[1]) / "profiles" / sys.argv[2]
    failed = 0
    for framework in FRAMEWORKS:
        for kind, sample_type in KINDS.items():
            paths = sorted(folder.glob(f"{framework}_*.{kind}.pb.gz"))
            problems = [(path.name, problem_of(path, sample_type)) for path in paths]
            if not paths:
                problems = [(f"{framework} {kind}", f"no profile in {folder}")]
            for name, problem in problems:
                print(f"FAIL {name}: {problem}" if problem else f"ok   {name}")
                failed += bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
