"""Runs the README: every block marked `sh`, each as one script from the root, and compares every block marked `rust`.

So that this takes minutes and not longer, a measurement (`--scenario`, `--call` and their like; a trace has no rounds) runs with one short round, and what an earlier step
of CI has run already is not run again. A `rust` block must be an example of this repository, word for word.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALREADY_RUN = {"cargo test --workspace"}
MEASURES = re.compile(r"--(scenario|call|http1|h2)\b")
SHORT = "--rounds 1 --duration 1s --warmup 200ms"
BLOCK_SECONDS = 900


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shortened(script):
    """The block as it will be run: comments off, measurements short."""
    lines = []
    for line in script.splitlines():
        line = re.sub(r"\s+# .*$", "", line)
        if line.strip() in ALREADY_RUN or not line.strip() or line.lstrip().startswith("#"):
            continue
        if MEASURES.search(line) and " trace " not in line:
            line = re.sub(r"\s*([&>].*)?$", lambda rest: f" {SHORT} {rest[1] or ''}", line, count=1).rstrip()
        lines.append(line)
    return "\n".join(lines)


def run(script):
    """None if the block ran well, otherwise its exit code and output. A block must end what it started."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(BLOCK_SECONDS)
        except subprocess.TimeoutExpired:
            code = "none in time"
        finally:
            end_group(process)
        output.seek(0)
        return None if code == 0 else f"exit {code}\n{output.read()[-3000:]}"


def end_group(process):
    """A block that failed halfway has left its server behind, on the ports that the next run needs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended what it started
    process.wait()


def main():
    text = (ROOT / "README.md").read_text()
    failed = 0
    for block in blocks(text, "sh"):
        script = shortened(block)
        if not script:
            continue
        problem = run(script)
        print(f"{'FAIL' if problem else 'ok  '} " + script.replace("\n", "\n     "), flush=True)
        if problem:
            print(problem, flush=True)
            failed += 1
    examples = {path.read_text().strip() for path in ROOT.glob("*/**/examples/*.rs") if "target" not in path.parts}
    for block in blocks(text, "rust"):
        known = block.strip() in examples
        print(f"{'ok  ' if known else 'FAIL'} the block that begins {block.splitlines()[0]!r} is an example of the repository")
        failed += not known
    if not blocks(text, "sh"):
        print("FAIL no block to run")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
