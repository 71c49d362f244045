# Generated from _async by tools/generate.py. Do not edit.
"""The code interpreter."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from .._values import given
from ..errors import CommandTimeoutError, ConnectionError, OffshootError
from ..results import CodeFailure, Execution, OutputChunk
from ..types import CodeContext, CodeResult
from . import _platform
from .scope import Scope

Language = Literal["python", "javascript", "typescript", "bash"]


class Code:
    """Runs code in contexts that keep their state. The sandbox must be made from the template ``code-interpreter``."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope.below("code")

    def run(
        self,
        code: str,
        *,
        language: Language | None = None,
        context: CodeContext | str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: int | None = None,
        on_output: Callable[[OutputChunk[str]], object] | None = None,
        on_result: Callable[[CodeResult], object] | None = None,
    ) -> Execution:
        """Runs code. An exception in it is part of the result. Cancelling the call interrupts the code.

        :param language: runs in the default context of this language; default: ``python``
        :param context: runs in this context instead
        :param env: variables of this execution only
        :param timeout_seconds: after these the server interrupts the code. The time in the queue of the context counts.
        :param on_output: called with each part of the output as it arrives
        :param on_result: called with each result as it arrives
        :raises CommandTimeoutError: ``timeout_seconds`` are over
        """
        fields = {
            "code": code,
            "language": language,
            "context_id": None if context is None else _id_of(context),
            "env": None if env is None else dict(env),
            "timeout_seconds": timeout_seconds,
        }
        output = {"stdout": "", "stderr": ""}
        results: list[CodeResult] = []
        failure: CodeFailure | None = None
        transport = self._scope.transport
        response = transport.stream(
            "POST", self._scope.path, body=given(fields), headers={"accept": "text/event-stream"}
        )
        with _platform.closing(transport.events(response)) as events:
            for event in events:
                data = json.loads(event.data)
                if event.event in ("stdout", "stderr"):
                    output[event.event] += data["chunk"]
                    if on_output is not None:
                        on_output(OutputChunk(event.event, data["chunk"]))  # type: ignore[arg-type]
                elif event.event == "result":
                    results.append(data)
                    if on_result is not None:
                        on_result(data)
                elif event.event == "error" and "error" in data:
                    raise _lost(data["error"], timeout_seconds, output)
                elif event.event == "error":
                    failure = CodeFailure(data["name"], data["value"], data["traceback"])
                elif event.event == "end":
                    text = next((each.get("text") for each in results if each["is_main_result"]), None)
                    count, duration = data["execution_count"], data["duration_ms"]
                    return Execution(text, results, output["stdout"], output["stderr"], failure, count, duration)
        raise ConnectionError("the connection ended before the code: the server has interrupted it")

    def contexts(self) -> list[CodeContext]:
        """The contexts."""
        contexts: list[CodeContext] = self._scope.get("/contexts")
        return contexts

    def create_context(self, *, language: Language | None = None, cwd: str | None = None) -> CodeContext:
        """Makes a context with a state of its own."""
        context: CodeContext = self._scope.post("/contexts", given({"language": language, "cwd": cwd}))
        return context

    def delete_context(self, context: CodeContext | str) -> None:
        """Ends a context and what runs in it."""
        self._below(context).delete()

    def restart(self, context: CodeContext | str) -> CodeContext:
        """Starts a context anew, without its state."""
        restarted: CodeContext = self._below(context).post("/restart")
        return restarted

    def interrupt(self, context: CodeContext | str) -> CodeContext:
        """Stops what runs in a context, like Ctrl+C."""
        interrupted: CodeContext = self._below(context).post("/interrupt")
        return interrupted

    def _below(self, context: CodeContext | str) -> Scope:
        return self._scope.below("contexts", _id_of(context))


def _id_of(context: CodeContext | str) -> str:
    return context if isinstance(context, str) else context["id"]


def _lost(error: Any, timeout_seconds: int | None, output: dict[str, str]) -> OffshootError:
    if timeout_seconds is not None and re.search("timeout", str(error), re.IGNORECASE):
        return CommandTimeoutError(str(error), stdout=output["stdout"], stderr=output["stderr"])
    return OffshootError(str(error))
