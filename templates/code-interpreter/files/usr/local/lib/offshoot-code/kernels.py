"""Kernels: the processes that run the code of contexts."""

import asyncio
import codecs
import fcntl
import json
import os
import shlex
import signal
import socket
import struct
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Bytes of output in one line to the client.
MAX_CHUNK = 64 * 1024
# Bytes of one line of a kernel: its largest result, as JSON.
MAX_LINE = 64 * 1024 * 1024
CONTROL_FD = 3
# For a process that runs JavaScript to react to an interrupt.
GRACE_SECONDS = 5
# Interrupts of bash until its command has ended.
MAX_INTERRUPTS = 20
INTERRUPT_SECONDS = 0.5
PYTHON = "/usr/bin/python3"
NODE = "/usr/local/bin/node"
BASH = "/bin/bash"


class KernelFailed(Exception):
    """A kernel could not be started."""


def hold_control_descriptor():
    """Programs are started with their socket as 3. `subprocess` wants this number open in this process too."""
    while os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) < CONTROL_FD:
        pass


hold_control_descriptor()


async def readable(fd):
    """A reader that stays registered would fire again and again while nobody reads. The caller removes it if cancelled."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def fire():
        loop.remove_reader(fd)
        if not future.done():
            future.set_result(None)

    loop.add_reader(fd, fire)
    await future


class Output:
    """One of a kernel's two output pipes."""

    def __init__(self, name):
        self.name = name
        self.fd, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.fd, False)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, limit):
        """The next text, or `None` at the end."""
        try:
            data = os.read(self.fd, limit)
        except BlockingIOError:
            return ""
        return self.decoder.decode(data) if data else None

    def waiting(self):
        """Bytes in the pipe."""
        (count,) = struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0\0\0\0"))
        return count

    def event(self, text):
        return {"type": self.name, "text": text, "timestamp": time.time_ns()}


class Kernel:
    """
    A process with two outputs and a control socket. While no execution runs, output is discarded, so that background
    processes do not block. Events reach the execution one after the other; the kernel waits for a slow client.
    """

    def __init__(self):
        self.pid = None
        self.outputs = [Output("stdout"), Output("stderr")]
        self.control, self.remote = socket.socketpair()
        self.control.setblocking(False)
        self.writer = None
        self.lock = asyncio.Lock()
        self.exited = asyncio.get_running_loop().create_future()
        self.lasting_env = None
        self.emit = None
        self.done = None
        self.tasks = []

    async def begin(self):
        """Starts the process. @throws KernelFailed"""
        try:
            await self.spawn()
        except Exception:
            self.close()
            raise
        finally:
            for output in self.outputs:
                os.close(output.writer)
            self.remote.close()
        reader, self.writer = await asyncio.open_connection(sock=self.control, limit=MAX_LINE)
        self.tasks = [asyncio.create_task(self.pump(output)) for output in self.outputs]
        self.tasks.append(asyncio.create_task(self.listen(reader)))
        self.tasks.append(asyncio.create_task(self.finish()))

    async def spawn(self):
        raise NotImplementedError

    async def run(self, code, env, emit, silent=False, lasting_env=None):
        """
        Runs code, and passes its events to `emit`. Returns when the code has ended.
        @param env variables of this execution
        @param lasting_env variables that stay; set once, so that code may change them
        @returns the exit status of the process if it ended; else `None`
        """
        if self.exited.done():
            return self.exited.result()
        self.done = asyncio.get_running_loop().create_future()
        self.emit = emit
        try:
            news = {} if lasting_env is None or lasting_env is self.lasting_env else lasting_env
            if lasting_env is not None:
                self.lasting_env = lasting_env
            await self.submit(code, env, silent, news)
            return await self.done
        finally:
            self.emit = None

    async def submit(self, code, env, silent, lasting_env):
        line = json.dumps({"code": code, "env": env, "lasting_env": lasting_env, "silent": silent})
        try:
            self.writer.write(line.encode() + b"\n")
            await self.writer.drain()
        except OSError:
            pass  # The process has ended; `finish` says so.

    def interrupt(self):
        self.signal(signal.SIGINT)

    def kill(self):
        self.signal(signal.SIGKILL)

    def signal(self, number):
        """Signals the process and what it has started in its group."""
        if self.pid is None or self.exited.done():
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    async def pass_on(self, event):
        if self.emit is not None:
            await self.emit(event)

    async def pump(self, output):
        while True:
            await readable(output.fd)
            async with self.lock:
                text = output.read(MAX_CHUNK)
                if text is None:
                    return
                if text:
                    await self.pass_on(output.event(text))

    async def drain(self):
        """Output that the process wrote before what it now says on the control socket. Call with the lock."""
        for output in self.outputs:
            left = output.waiting()
            while left > 0:
                text = output.read(min(left, MAX_CHUNK))
                if text is None:
                    break
                left -= MAX_CHUNK
                if text:
                    await self.pass_on(output.event(text))

    async def listen(self, reader):
        while True:
            try:
                line = await reader.readline()
            except (ValueError, ConnectionError):
                self.kill()
                return
            if not line.endswith(b"\n"):
                return
            async with self.lock:
                await self.drain()
                await self.hear(line)

    async def hear(self, line):
        event = json.loads(line)
        if event["type"] == "end":
            self.settle(None)
        else:
            await self.pass_on(event)

    def settle(self, status):
        if self.done is not None and not self.done.done():
            self.done.set_result(status)

    async def finish(self):
        status = await self.exited
        async with self.lock:
            await self.drain()
            self.settle(status)
        self.close()

    def close(self):
        """Frees the descriptors. Processes that the kernel has left behind lose their outputs."""
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if self.writer is not None:
            self.writer.close()
        self.control.close()
        for output in self.outputs:
            asyncio.get_running_loop().remove_reader(output.fd)
            os.close(output.fd)


class Zygote:
    """The process that Python kernels are forked from. Started again if it ends."""

    def __init__(self):
        self.socket = None
        self.forks = {}
        self.kernels = {}
        self.number = 0
        self.starting = asyncio.Lock()

    async def start(self):
        async with self.starting:
            if self.socket is not None:
                return
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.process = await asyncio.create_subprocess_exec(
                PYTHON,
                f"{HERE}/zygote.py",
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[CONTROL_FD],
                preexec_fn=lambda: os.dup2(theirs.fileno(), CONTROL_FD),
            )
            theirs.close()
            ours.setblocking(False)
            ready = await asyncio.get_running_loop().sock_recv(ours, 65536)
            if not ready:
                ours.close()
                raise KernelFailed("Python could not be started")
            self.socket = ours
            asyncio.create_task(self.listen(ours))

    async def listen(self, ours):
        loop = asyncio.get_running_loop()
        while True:
            packet = await loop.sock_recv(ours, 65536)
            if not packet:
                break
            message = json.loads(packet)
            if "pid" in message:
                self.forks.pop(message["id"]).set_result(message["pid"])
            else:
                kernel = self.kernels.pop(message["exited"], None)
                if kernel is not None and not kernel.exited.done():
                    kernel.exited.set_result(message["status"])
        ours.close()
        self.socket = None
        for fork in self.forks.values():
            fork.set_exception(KernelFailed("Python ended while it was being started"))
        for pid, kernel in self.kernels.items():
            kernel.kill()
            kernel.exited.set_result(-signal.SIGKILL)
        self.forks.clear()
        self.kernels.clear()
        await self.process.wait()

    async def fork(self, kernel, cwd, env):
        await self.start()
        self.number += 1
        fork = self.forks[self.number] = asyncio.get_running_loop().create_future()
        fds = [kernel.outputs[0].writer, kernel.outputs[1].writer, kernel.remote.fileno()]
        packet = json.dumps({"id": self.number, "cwd": cwd, "env": env}).encode()
        socket.send_fds(self.socket, [packet], fds)
        pid = await fork
        self.kernels[pid] = kernel
        return pid


class PythonKernel(Kernel):
    def __init__(self, zygote, cwd):
        super().__init__()
        self.zygote = zygote
        self.cwd = cwd

    async def spawn(self):
        self.pid = await self.zygote.fork(self, self.cwd, {})


class SpawnedKernel(Kernel):
    """A kernel that is a program of its own."""

    async def start_program(self, arguments, cwd, stdin=asyncio.subprocess.DEVNULL):
        """The program finds its control socket as 3."""

        def prepare():
            os.dup2(self.remote.fileno(), CONTROL_FD)
            # The shell that started this server in the background made it ignore them.
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            with open("/proc/self/oom_score_adj", "wb") as file:
                file.write(b"500")

        self.process = await asyncio.create_subprocess_exec(
            *arguments,
            cwd=cwd,
            stdin=stdin,
            stdout=self.outputs[0].writer,
            stderr=self.outputs[1].writer,
            start_new_session=True,
            pass_fds=[CONTROL_FD],
            preexec_fn=prepare,
        )
        self.pid = self.process.pid
        asyncio.create_task(self.watch())

    async def watch(self):
        status = await self.process.wait()
        if not self.exited.done():
            self.exited.set_result(status)


class NodeKernel(SpawnedKernel):
    def __init__(self, language, cwd):
        super().__init__()
        self.language = language
        self.cwd = cwd

    async def spawn(self):
        flags = ["--experimental-import-meta-resolve", "--disable-warning=ExperimentalWarning"]
        arguments = [NODE, *flags, f"{HERE}/javascript.mjs", self.language]
        await self.start_program(arguments, self.cwd)

    def interrupt(self):
        super().interrupt()
        asyncio.create_task(self.end_unless_done(self.done))

    async def end_unless_done(self, done):
        """A loop that began after an `await` cannot be interrupted."""
        if done is None or done.done():
            return
        await asyncio.wait([done], timeout=GRACE_SECONDS)
        if not done.done():
            self.kill()


class BashKernel(SpawnedKernel):
    """
    An interactive bash that reads commands from a pipe. Interactive, because only then an interrupt ends the whole
    command and not just the program that runs. The control socket gets the exit status of each command.
    """

    def __init__(self, cwd):
        super().__init__()
        self.cwd = cwd
        self.was_interrupted = False

    async def spawn(self):
        self.file = tempfile.NamedTemporaryFile(prefix="code-", suffix=".sh")
        arguments = [BASH, "--noprofile", "--norc", "--noediting", "-i"]
        await self.start_program(arguments, self.cwd, asyncio.subprocess.PIPE)
        self.is_ready = asyncio.get_running_loop().create_future()
        self.process.stdin.write(b"PS1= PS2=; unset HISTFILE; set +o history +H; printf '0\\n' >&3\n")

    async def begin(self):
        await super().begin()
        # Until then bash complains about the missing terminal.
        await asyncio.wait([self.is_ready, self.exited], return_when=asyncio.FIRST_COMPLETED)

    async def submit(self, code, env, silent, lasting_env):
        self.was_interrupted = False
        self.file.seek(0)
        self.file.truncate()
        self.file.write(code.encode("utf-8", "surrogateescape").replace(b"\0", b""))
        self.file.flush()
        before, after = self.environment(env)
        lasting = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in lasting_env.items())
        script = (
            f"{lasting}{before}IFS= read -r -d '' __offshoot_code <{shlex.quote(self.file.name)}\n"
            'eval "$__offshoot_code" </dev/null 3>&-\n'
            f"__offshoot_status=$?\n{after}printf '%s\\n' \"$__offshoot_status\" >&3\n"
        )
        try:
            self.process.stdin.write(script.encode("utf-8", "surrogateescape"))
            await self.process.stdin.drain()
        except ConnectionError:
            pass  # The process has ended; `finish` says so.

    def environment(self, env):
        """Commands that set the variables of one execution, and that restore them."""
        before, after = [], []
        for number, (name, value) in enumerate(env.items()):
            old = f"__offshoot_old_{number}"
            before.append(f'unset {old}; [ -z "${{{name}+x}}" ] || {old}=${name}; export {name}={shlex.quote(value)}\n')
            restore = f'if [ -n "${{{old}+x}}" ]; then {name}=${old}; else unset {name}; fi'
            # The code may have changed it for later executions.
            after.append(f'[ "${{{name}-}}" != {shlex.quote(value)} ] || {{ {restore}; }}\n')
        return "".join(before), "".join(after)

    def interrupt(self):
        self.was_interrupted = True
        asyncio.create_task(self.interrupt_until_done(self.done))

    async def interrupt_until_done(self, done):
        """A program that bash has just forked may miss the signal, and bash then takes it for handled."""
        for _ in range(MAX_INTERRUPTS):
            if done is None or done.done():
                return
            super().interrupt()
            await asyncio.wait([done], timeout=INTERRUPT_SECONDS)

    async def hear(self, line):
        if not self.is_ready.done():
            self.is_ready.set_result(None)
            return
        status = int(line)
        if self.was_interrupted:
            value = "the execution was interrupted"
            await self.pass_on({"type": "error", "name": "Interrupted", "value": value, "traceback": ""})
        elif status != 0:
            await self.pass_on({"type": "error", "name": "ExitCode", "value": str(status), "traceback": ""})
        self.settle(None)
