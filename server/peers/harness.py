"""Setting peers up under target/peers, and running programs so that none outlives its use. Standard library only."""

import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

PEERS = Path(__file__).resolve().parent
ROOT = PEERS.parent.parent
WORK = ROOT / "target" / "peers"
PYTHON = WORK / "venv" / "bin" / "python"
NODE_DIR = WORK / "dubbo-js"
GO = WORK / "go"
# Programs by the package they are built from. A folder with a go.mod is a framework, and its package a server under test.
GO_PACKAGES = {
    "connect-go": "connect-go",
    "dubbo-go": "dubbo-go",
    "dubbo-go-client": "dubbo-go/client",
    "dubbo-go-protocol": "dubbo-go/protocol",
    "grpc-go": "grpc-go",
    "grpc-go-client": "grpc-go/client",
    "kitex": "kitex",
    "own-service": "grpc-go/own-service",
}
STUBS = WORK / "stubs"
JAVA_PEER = WORK / "dubbo-java" / "server.jar"
# One small heap, so that a JVM under test is the same on every machine.
JAVA = ["java", "-Xms512m", "-Xmx512m"]

SETUP_SECONDS = 600
INSTALL_ATTEMPTS = 3
READY_SECONDS = 60
END_SECONDS = 30


class PeerError(Exception):
    """A peer could not be set up, started or ended; the text says which and why."""


def set_up():
    """Installs the pinned versions once; a changed pin installs anew."""
    requirements = [PEERS / "grpcio" / "requirements.txt", PEERS / "apache-dubbo" / "requirements.txt"]
    if _changed("venv", requirements):
        shutil.rmtree(WORK / "venv", ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(WORK / "venv")])
        options = [word for path in requirements for word in ("-r", str(path))]
        _install([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options])
        _remember("venv", requirements)

    STUBS.mkdir(parents=True, exist_ok=True)
    protos = ROOT / "proto" / "protos"
    outputs = [f"--python_out={STUBS}", f"--grpc_python_out={STUBS}"]
    _run([str(PYTHON), "-m", "grpc_tools.protoc", f"-I{protos}", *outputs, "benchmark.proto", "triple_wrapper.proto"])

    NODE_DIR.mkdir(parents=True, exist_ok=True)
    packages = [PEERS / "dubbo-js" / "package.json", PEERS / "dubbo-js" / "package-lock.json"]
    for source in [*packages, *(PEERS / "dubbo-js").glob("*.js")]:
        shutil.copy(source, NODE_DIR)
    if _changed("node", packages):
        _install(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=NODE_DIR)
        _remember("node", packages)

    # Go's own caches know what has changed.
    for name, package in GO_PACKAGES.items():
        module, _, folder = package.partition("/")
        _install(["go", "build", "-o", str(GO / name), f"./{folder}"], cwd=PEERS / module)

    jvm = sorted(path for pattern in ("pom.xml", "*/pom.xml", "*/src/**/*.java") for path in PEERS.glob(pattern))
    jvm.append(protos / "benchmark.proto")
    if _changed("jvm", jvm):
        _install(["mvn", "--batch-mode", "--quiet", "-f", str(PEERS / "pom.xml"), "package"])
        _remember("jvm", jvm)


@contextmanager
def serving(name, command, end_code=None):
    """Starts a server, yields what its JSON ready line says, ends it by SIGTERM.

    `end_code` is the exit code that SIGTERM must lead to; None for a peer that just dies of it.
    """
    log = WORK / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr
        )
    try:
        yield _ready_line(name, process)
        _end(name, process, end_code)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def lines_of(command, seconds):
    """Runs a client to its end; its standard output as lines, and its exit code (None if it took too long)."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
            return out.splitlines(), err, process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return out.splitlines(), err, None


def _environment():
    return os.environ | {"PYTHONPATH": str(STUBS), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


def _ready_line(name, process):
    first = queue.Queue()
    threading.Thread(target=lambda: first.put(process.stdout.readline()), daemon=True).start()
    try:
        line = first.get(timeout=READY_SECONDS)
        return json.loads(line)
    except queue.Empty:
        raise PeerError(f"{name}: no ready line in {READY_SECONDS} s") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise PeerError(f"{name}: its first line is no JSON: {line!r}") from None


def _end(name, process, end_code):
    if process.poll() is not None:
        raise PeerError(f"{name}: ended by itself with {process.returncode}")
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        raise PeerError(f"{name}: still running {END_SECONDS} s after SIGTERM") from None
    if end_code is not None and code != end_code:
        raise PeerError(f"{name}: SIGTERM ended it with {code}, not {end_code}")


def _install(command, cwd=ROOT):
    """Registries have bad moments."""
    for attempt in range(1, INSTALL_ATTEMPTS):
        try:
            return _run(command, cwd)
        except PeerError as error:
            print(f"attempt {attempt} of {INSTALL_ATTEMPTS}: {error}", file=sys.stderr)
    return _run(command, cwd)


def _run(command, cwd=ROOT):
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SETUP_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        raise PeerError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")


def _digest(files):
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _changed(name, files):
    stamp = WORK / f"{name}.stamp"
    return not stamp.exists() or stamp.read_text() != _digest(files)


def _remember(name, files):
    (WORK / f"{name}.stamp").write_text(_digest(files))
