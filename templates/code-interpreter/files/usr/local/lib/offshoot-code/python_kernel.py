"""Runs Python code for one context: an IPython shell that answers on a socket.

The server sends one JSON object per line on file descriptor 3: {"code", "env", "lasting_env", "silent"}. The kernel answers with lines of
`result` and `error`, and one of `end`. Output of the code itself goes to the pipes 1 and 2.
"""

import asyncio
import json
import os
import signal
import socket
import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

CONTROL_FD = 3
# Bytes of all representations of one result. Larger representations are left out.
MAX_RESULT_BYTES = 10 * 1024 * 1024
MAX_TRACEBACK_CHARS = 256 * 1024
MAX_VALUE_CHARS = 64 * 1024
# Names of the representations in a line.
KEYS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "offshoot/data": "data",
    "offshoot/chart": "chart",
}


def bounded(text, limit):
    return text if len(text) <= limit else text[:limit] + "\n… truncated"


class Channel:
    """Writes lines to the server. Flushes the code's output first, so that the server sees both in order."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.pid = os.getpid()

    def send(self, event):
        # A child process that the code forked must not write into its parent's conversation.
        if os.getpid() != self.pid:
            return
        sys.stdout.flush()
        sys.stderr.flush()
        self.socket.sendall(json.dumps(event, default=str).encode() + b"\n")

    def send_result(self, bundle, is_main):
        event = {"type": "result", "is_main_result": is_main}
        extra, left = {}, MAX_RESULT_BYTES
        for mime, value in bundle.items():
            plain = plain_value(mime, value)
            size = len(json.dumps(plain, default=str))
            if size > left:
                sys.stderr.write(f"The {mime} of a result is left out: it has {size} bytes.\n")
                continue
            left -= size
            if mime in KEYS:
                event[KEYS[mime]] = plain
            else:
                extra[mime] = plain
        if extra:
            event["extra"] = extra
        self.send(event)


def plain_value(mime, value):
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode()
    if mime == "text/plain" and len(value) > 1 and value[0] == value[-1] == "'":
        # The value of a string, without the quotes of its representation. Clients expect it so.
        return value[1:-1]
    if mime.startswith("image/") and isinstance(value, str) and mime != "image/svg+xml":
        return value.replace("\n", "")
    return value


class Publisher(DisplayPublisher):
    channel = None

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        self.channel.send_result(data, False)

    def clear_output(self, wait=False):
        pass


class Hook(DisplayHook):
    channel = None

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.channel.send_result(format_dict, True)

    def finish_displayhook(self):
        pass


class Shell(InteractiveShell):
    channel = None
    must_exit = False

    def _showtraceback(self, etype, evalue, stb):
        # Waiting code is interrupted by cancelling its task.
        name = "KeyboardInterrupt" if self.interrupts.cancelled else etype.__name__
        self.channel.send(
            {
                "type": "error",
                "name": name,
                "value": bounded(str(evalue), MAX_VALUE_CHARS),
                "traceback": bounded("\n".join(stb), MAX_TRACEBACK_CHARS),
            }
        )

    def enable_gui(self, gui=None):
        """There is no display, so there is no event loop to integrate."""

    def ask_exit(self):
        self.must_exit = True


class Interrupts:
    """Turns SIGINT into KeyboardInterrupt while code runs, and ignores it otherwise."""

    def __init__(self, loop):
        self.loop = loop
        self.is_running = False
        self.cancelled = False

    def handle(self, *_):
        if not self.is_running:
            return
        if self.loop.is_running() and asyncio.current_task(self.loop) is None:
            self.cancelled = True
            self.loop.call_soon_threadsafe(self.cancel_all)
            return
        raise KeyboardInterrupt

    def cancel_all(self):
        for task in asyncio.all_tasks(self.loop):
            task.cancel()


def make_shell():
    """Made once, before the fork, because it takes long under emulation."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    shell = Shell.instance(config=config, display_pub_class=Publisher, displayhook_class=Hook)
    shell.enable_matplotlib("inline")
    import charts

    charts.register(shell.display_formatter)
    show_saved_images(shell)
    shell.display_formatter.active_types = shell.display_formatter.format_types
    return shell


def show_saved_images(shell):
    """An image of Pillow that the code saves under a name becomes a result, as one that it shows."""
    from IPython.display import display
    from PIL import Image

    save = Image.Image.save

    def shown_save(image, fp, format=None, **params):
        save(image, fp, format, **params)
        # Matplotlib saves with Pillow, and its figures are shown already.
        is_figure = sys._getframe(1).f_globals.get("__name__", "").startswith("matplotlib")
        if isinstance(fp, (str, os.PathLike)) and not is_figure and shell.channel is not None:
            display(image)

    Image.Image.save = shown_save


def seed():
    """A snapshot restores the same generators into every sandbox, so each kernel seeds them before its first code."""
    import random
    import ssl

    random.seed()
    ssl.RAND_add(os.urandom(32), 32.0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


class Environment:
    """Variables of one execution."""

    def __init__(self, variables):
        self.variables = variables

    def __enter__(self):
        self.previous = {name: os.environ.get(name) for name in self.variables}
        self.given = dict(self.variables)
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for name, value in self.previous.items():
            # The code may have changed it for later executions.
            if os.environ.get(name) != self.given[name]:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


async def readable(loop, fd):
    future = loop.create_future()
    loop.add_reader(fd, lambda: future.done() or future.set_result(None))
    try:
        await future
    finally:
        loop.remove_reader(fd)


def serve(shell):
    """Runs requests until the server closes the socket."""
    loop = asyncio.new_event_loop()
    interrupts = shell.interrupts = Interrupts(loop)
    signal.signal(signal.SIGINT, interrupts.handle)
    channel = Channel(CONTROL_FD)
    shell.channel = shell.display_pub.channel = shell.displayhook.channel = channel
    shell.loop_runner = loop.run_until_complete
    shell.user_module.__dict__.setdefault("__name__", "__main__")
    lines = channel.socket.makefile("rb")
    is_first = True
    while True:
        asyncio.set_event_loop(loop)
        # Tasks that earlier code has started run while the kernel waits.
        loop.run_until_complete(readable(loop, CONTROL_FD))
        line = lines.readline()
        if not line:
            os._exit(0)
        request = json.loads(line)
        if is_first and not request["silent"]:
            is_first = False
            seed()
        run(shell, interrupts, request)
        if shell.must_exit:
            sys.stdout.flush()
            os._exit(0)
        channel.send({"type": "end"})


def run(shell, interrupts, request):
    interrupts.cancelled = False
    os.environ.update(request["lasting_env"])
    try:
        with Environment(request["env"]):
            interrupts.is_running = True
            try:
                shell.run_cell(request["code"], store_history=not request["silent"])
            finally:
                interrupts.is_running = False
    except KeyboardInterrupt:
        # Between two lines of IPython's own code.
        shell.channel.send({"type": "error", "name": "KeyboardInterrupt", "value": "", "traceback": ""})
