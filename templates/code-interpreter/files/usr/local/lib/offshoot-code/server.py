"""
The code interpreter of this sandbox, on 127.0.0.1:49999. It speaks the protocol of E2B's published clients:

POST /execute {code, context_id?, language?, env_vars?} answers lines of JSON: number_of_executions, stdout, stderr,
result, error, keepalive, and at last end_of_execution. When the client closes the connection, the code is interrupted.
"""

import asyncio
import json
import os
import re

import tornado.web
from tornado.iostream import StreamClosedError

from contexts import HOME, Abandoned, Contexts, Refused, language_of
from kernels import Zygote

PORT = 49999
MAX_BODY = 64 * 1024 * 1024
KEEPALIVE_SECONDS = 5
READY_FOLDER = "/run/offshoot-code"
MAX_VARIABLES = 1024
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def optional_text(body, name):
    value = body.get(name)
    if value is None or (isinstance(value, str) and "\0" not in value):
        return value
    raise Refused(400, f"{name} must be a string")


def variables_of(body, name):
    given = body.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MAX_VARIABLES:
        raise Refused(400, f"{name} must be an object of at most {MAX_VARIABLES} variables")
    for key, value in given.items():
        if not VARIABLE.fullmatch(key) or not isinstance(value, str) or "\0" in value:
            raise Refused(400, f"{name} must be an object of variables")
    return given


class Handler(tornado.web.RequestHandler):
    def initialize(self, state):
        self.state = state

    @property
    def contexts(self):
        return self.state.contexts

    def body(self):
        """@throws Refused"""
        if not self.request.body:
            return {}
        try:
            body = json.loads(self.request.body)
        except ValueError as error:
            raise Refused(400, "the body is not JSON") from error
        if not isinstance(body, dict):
            raise Refused(400, "the body must be an object")
        return body

    def answer(self, body, status=200):
        self.set_status(status)
        self.set_header("content-type", "application/json")
        self.finish(json.dumps(body))

    def write_error(self, status_code, **details):
        error = details.get("exc_info", (None, None, None))[1]
        if isinstance(error, Refused):
            self.answer({"error": error.reason}, error.status)
        else:
            self.answer({"error": self._reason.lower()}, status_code)

    def log_exception(self, kind, value, trace):
        if not isinstance(value, Refused):
            super().log_exception(kind, value, trace)


class Health(Handler):
    def get(self):
        self.answer({"ready": self.state.is_ready}, 200 if self.state.is_ready else 503)


class AllContexts(Handler):
    def get(self):
        self.answer(self.contexts.list())

    def post(self):
        body = self.body()
        language = language_of(optional_text(body, "language") or "python")
        cwd = optional_text(body, "cwd") or HOME
        self.answer(self.contexts.create(language, cwd).show())


class OneContext(Handler):
    def get(self, name):
        self.answer(self.contexts.find(name).show())

    def delete(self, name):
        self.contexts.remove(name)
        self.set_status(204)


class Restart(Handler):
    def post(self, name):
        context = self.contexts.find(name)
        context.restart()
        self.answer(context.show())


class Interrupt(Handler):
    def post(self, name):
        context = self.contexts.find(name)
        context.interrupt()
        self.answer(context.show())


class Execute(Handler):
    def initialize(self, state):
        super().initialize(state)
        self.gone = asyncio.Event()
        self.turn = asyncio.Lock()

    def on_connection_close(self):
        self.gone.set()

    async def emit(self, event):
        """Waits until the connection has taken the event. @throws Abandoned"""
        async with self.turn:
            try:
                self.write(json.dumps(event) + "\n")
                await self.flush()
            except StreamClosedError as error:
                raise Abandoned from error

    async def keep_alive(self):
        while True:
            await asyncio.sleep(KEEPALIVE_SECONDS)
            if not self.turn.locked():
                await self.emit({"type": "keepalive"})

    def context_of(self, body):
        name, language = optional_text(body, "context_id"), optional_text(body, "language")
        if name is not None and language is not None:
            raise Refused(400, "give context_id or language, not both")
        if name is not None:
            return self.contexts.find(name)
        return self.contexts.of_language(language_of(language or "python"))

    def take_variables(self, body):
        """The host brings those of the sandbox with the first execution, then `null`. Other clients bring none."""
        if body.get("sandbox_env") is not None:
            self.contexts.set_env(variables_of(body, "sandbox_env"))
        elif "sandbox_env" in body and self.contexts.env is None:
            raise Refused(428, "sandbox_env required")

    async def post(self):
        body = self.body()
        self.take_variables(body)
        code = body.get("code")
        if not isinstance(code, str):
            raise Refused(400, "code must be a string")
        env = variables_of(body, "env_vars")
        context = self.context_of(body)
        self.set_header("content-type", "application/x-ndjson")
        keeper = asyncio.create_task(self.keep_alive())
        try:
            await context.execute(code, env, self.emit, self.gone)
            if not self.gone.is_set():
                await self.emit({"type": "end_of_execution"})
        except Abandoned:
            pass
        finally:
            keeper.cancel()


class State:
    def __init__(self):
        self.contexts = Contexts(Zygote())
        self.is_ready = False

    async def warm_up(self):
        """Starts the Python kernel, and runs what the first execution would otherwise run for the first time."""

        async def ignore(_):
            pass

        kernel = await self.contexts.of_language("python").ready_kernel()
        await kernel.run(WARM_UP, {}, ignore, silent=True)
        self.is_ready = True
        if os.path.isdir(READY_FOLDER):
            with open(f"{READY_FOLDER}/ready", "w"):
                pass


WARM_UP = """
def _warm():
    import matplotlib.pyplot as plt, pandas as pd
    plt.plot([1, 2]); plt.show()
    display(pd.DataFrame({"a": [1]}))
    print(1)
_warm()
del _warm
"""


async def main():
    os.chdir(HOME)
    state = State()
    given = {"state": state}
    name = r"([A-Za-z0-9_-]{1,64})"
    application = tornado.web.Application(
        [
            ("/health", Health, given),
            ("/contexts", AllContexts, given),
            (f"/contexts/{name}", OneContext, given),
            (f"/contexts/{name}/restart", Restart, given),
            (f"/contexts/{name}/interrupt", Interrupt, given),
            ("/execute", Execute, given),
        ],
        log_function=lambda _: None,
        compress_response=False,
    )
    application.listen(PORT, "127.0.0.1", max_body_size=MAX_BODY, max_buffer_size=2 * MAX_BODY)
    await state.warm_up()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
