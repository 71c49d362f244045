"""Contexts: each has a language, a folder, and a kernel that keeps its state from one execution to the next."""

import asyncio
import os
import secrets

from kernels import BashKernel, KernelFailed, NodeKernel, PythonKernel

LANGUAGES = ("python", "javascript", "typescript", "bash")
ALIASES = {"py": "python", "js": "javascript", "ts": "typescript", "sh": "bash"}
HOME = "/home/user"
MAX_CONTEXTS = 32
# Executions of one context that run or wait.
MAX_EXECUTIONS = 64


class Refused(Exception):
    """A request that cannot be done."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Abandoned(Exception):
    """The client is gone."""


def language_of(name):
    """@throws Refused"""
    language = ALIASES.get(name.strip().lower(), name.strip().lower())
    if language not in LANGUAGES:
        raise Refused(400, f"unknown language {name[:64]}: use one of {', '.join(LANGUAGES)}")
    return language


class Context:
    """
    Executions run one after the other. The kernel starts with the first one, and again with the next one after it has
    ended.
    """

    def __init__(self, name, language, cwd, contexts):
        self.id = name
        self.language = language
        self.cwd = cwd
        self.contexts = contexts
        self.turn = asyncio.Lock()
        self.kernel = None
        self.executions = 0
        self.waiting = 0
        self.is_removed = False

    def show(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def execute(self, code, env, emit, gone):
        """
        @param emit sends one event to the client; raises Abandoned if the client is gone
        @param gone is set when the client is gone
        @throws Refused before the first event
        """
        if self.waiting >= MAX_EXECUTIONS:
            raise Refused(429, "too many executions wait for this context")
        self.waiting += 1
        try:
            async with self.turn:
                if not gone.is_set():
                    await self.run(code, env, emit, gone)
        finally:
            self.waiting -= 1

    async def run(self, code, env, emit, gone):
        if self.is_removed:
            await emit(failure("ContextRemoved", "the context was removed"))
            return
        try:
            kernel = await self.ready_kernel()
        except (KernelFailed, OSError) as error:
            await emit(failure("KernelFailed", str(error)))
            return
        self.executions += 1

        async def guarded(event):
            # The code runs on until its interrupt takes effect; nobody wants the rest.
            if gone.is_set():
                return
            try:
                await emit(event)
            except Abandoned:
                gone.set()

        await guarded({"type": "number_of_executions", "execution_count": self.executions})
        watch = asyncio.create_task(interrupt_when(gone, kernel))
        try:
            status = await kernel.run(code, env, guarded, lasting_env=self.contexts.env)
        finally:
            watch.cancel()
        if status is not None:
            # Ended by the context, which then has none, or by itself.
            was_ended = self.kernel is not kernel
            self.kernel = None
            self.executions = 0
            await guarded(self.explain(status, was_ended))

    def explain(self, status, was_ended):
        if self.is_removed:
            return failure("ContextRemoved", "the context was removed")
        if was_ended:
            return failure("KernelRestarted", "the context was restarted")
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return failure("KernelDied", f"the process that ran the code {how}; the context starts anew")

    async def ready_kernel(self):
        if self.kernel is not None and not self.kernel.exited.done():
            return self.kernel
        self.kernel = None
        self.executions = 0
        kernel = self.new_kernel()
        await kernel.begin()
        self.kernel = kernel
        if self.is_removed:
            self.end_kernel()
        return kernel

    def new_kernel(self):
        if not os.path.isdir(self.cwd):
            raise KernelFailed(f"there is no folder {self.cwd}")
        if self.language == "python":
            return PythonKernel(self.contexts.zygote, self.cwd)
        if self.language == "bash":
            return BashKernel(self.cwd)
        return NodeKernel(self.language, self.cwd)

    def interrupt(self):
        if self.kernel is not None:
            self.kernel.interrupt()

    def restart(self):
        """Ends the kernel. Waiting executions run with a new one."""
        self.end_kernel()

    def remove(self):
        self.is_removed = True
        self.end_kernel()

    def end_kernel(self):
        self.executions = 0
        if self.kernel is not None:
            self.kernel.kill()
            # It is gone at once for the next execution. The process ends a little later.
            self.kernel = None


async def interrupt_when(gone, kernel):
    """Repeats the interrupt, because code may catch it."""
    await gone.wait()
    while True:
        kernel.interrupt()
        await asyncio.sleep(2)


def failure(name, value):
    return {"type": "error", "name": name, "value": value, "traceback": f"{name}: {value}"}


class Contexts:
    def __init__(self, zygote):
        self.zygote = zygote
        # Variables of the sandbox, which every context gets with its next execution. `None`: not yet known.
        self.env = None
        self.all = {}
        # Clients expect both in the list of a new sandbox. Their kernels start with their first code.
        for language in ("python", "javascript"):
            self.of_language(language)

    def set_env(self, env):
        # Code may have changed a variable since. It stays changed unless the sandbox has others now.
        if env != self.env:
            self.env = env

    def list(self):
        return [context.show() for context in self.all.values()]

    def find(self, name):
        """@throws Refused"""
        context = self.all.get(name)
        if context is None:
            raise Refused(404, "no such context")
        return context

    def of_language(self, language):
        """The default context of a language. Its id is the language's name."""
        context = self.all.get(language)
        return self.add(language, language, HOME) if context is None else context

    def create(self, language, cwd):
        """@throws Refused"""
        if not os.path.isdir(cwd):
            raise Refused(400, "cwd is not a folder")
        return self.add(secrets.token_hex(16), language, cwd)

    def add(self, name, language, cwd):
        if len(self.all) >= MAX_CONTEXTS:
            raise Refused(429, "too many contexts")
        context = self.all[name] = Context(name, language, cwd, self)
        return context

    def remove(self, name):
        """@throws Refused"""
        self.find(name).remove()
        del self.all[name]
