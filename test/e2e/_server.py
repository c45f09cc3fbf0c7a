"""Starts servers for the end-to-end tests and takes them down again: our embedded one and, where Go is, a real one."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kueue-cpp"
START_TIMEOUT_S = 60

# A test that is told to end takes down what it started, as after any exception.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def wait_until(condition, what, timeout_s=30.0, process=None, log=None):
    """Polls until condition() is true; raises with the log's tail when time is over or the process ended."""
    deadline, every_s = time.monotonic() + timeout_s, 0.02
    while True:
        value = condition()
        if value:
            return value
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"process ended with {process.returncode} while waiting for {what}\n{tail(log)}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out waiting for {what}\n{tail(log)}")
        time.sleep(every_s)


def tail(log, lines=40):
    if log is None or not pathlib.Path(log).exists():
        return ""
    return "\n".join(pathlib.Path(log).read_text(errors="replace").splitlines()[-lines:])


def stop(process, timeout_s=15):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"{process.args[0]} did not stop within {timeout_s} s of SIGTERM")


def run_to_end(command, timeout_to_stop_s=60):
    """The exit code of a program that is told to end, and waited for, when this one is."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        return process.wait()
    finally:
        stop(process, timeout_to_stop_s)


@contextlib.contextmanager
def embedded(kueue, *flags, memory=True, data_dir=None):
    """A `kueue up` on a free port; yields its kubeconfig's path and the process."""
    with tempfile.TemporaryDirectory(prefix="kueue-e2e-") as work:
        kubeconfig, log = pathlib.Path(work) / "kubeconfig", pathlib.Path(work) / "up.log"
        storage = ["--memory"] if memory else ["--data-dir", data_dir or os.path.join(work, "data")]
        environment = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"} | {"HOME": work}
        with open(log, "wb") as out:
            process = subprocess.Popen([str(kueue), "up", "--port", "0", "--kubeconfig", str(kubeconfig), *storage,
                                        *flags], stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=environment)
        try:
            wait_until(kubeconfig.exists, "the kubeconfig of kueue up", START_TIMEOUT_S, process, log)
            yield str(kubeconfig), process, log
        except Exception:
            print(tail(log), file=sys.stderr)
            raise
        finally:
            stop(process)


def control_plane_binaries():
    """Folder with kube-apiserver, kubectl, ...; None where they cannot be built. Built once, kept in the user's cache."""
    folder = CACHE / "controlplane"
    if not (folder / ".stamp").exists() and shutil.which("go") is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["bash", str(ROOT / "test" / "controlplane" / "build"), str(folder)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print("SKIPPED: the control plane cannot be built here:\n" + done.stdout.decode(errors="replace")[-2000:])
        return None
    return folder


class RealServer(str):
    """The path of a real control plane's kubeconfig, with the process that holds it together."""

    def __new__(cls, kubeconfig, process):
        made = super().__new__(cls, kubeconfig)
        made.process = process
        return made

    def restart_api_server(self):
        """Kills it, and starts it again with what it had stored."""
        self.process.send_signal(signal.SIGUSR1)


@contextlib.contextmanager
def real(*flags):
    """A real control plane (etcd, kube-apiserver, controller manager, scheduler); None where it cannot be had."""
    binaries = control_plane_binaries()
    if binaries is None:
        yield None
        return
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="kueue-controlplane-", dir=base) as work:
        log = pathlib.Path(work) / "up.log"
        with open(log, "wb") as out:
            process = subprocess.Popen(["bash", str(ROOT / "test" / "controlplane" / "up"), str(binaries), work, *flags],
                                       stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        kubeconfig = pathlib.Path(work) / "kubeconfig"
        try:
            wait_until(kubeconfig.exists, "the real control plane", 180, process, log)
            yield RealServer(kubeconfig, process)
        finally:
            stop(process)
