"""Server-sent events (WHATWG HTML, 9.2.6)."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

MAX_EVENT_CHARS = 64 * 1024 * 1024
"""A longer event is an error of the server, and would fill the memory."""


@dataclass(frozen=True)
class ServerSentEvent:
    event: str
    data: str
    id: str | None
    """The last id that the stream has had so far."""


class SseParser:
    """Gets the bytes of a stream piece by piece and returns the events that are complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._after_cr = False
        self._size = 0
        self._id: str | None = None
        self._reset()

    def _reset(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """
        :raises ValueError: an event is longer than ``MAX_EVENT_CHARS``
        """
        text = self._decoder.decode(data)
        if self._after_cr and text.startswith("\n"):
            # The second half of a CRLF that was cut in two.
            text = text[1:]
            self._after_cr = False
        if text == "":
            return []
        self._after_cr = text.endswith("\r")
        # Only CR, LF and CRLF end a line; str.splitlines knows more separators.
        lines = (self._text + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._text = lines.pop()
        if self._size + len(self._text) > MAX_EVENT_CHARS:
            raise ValueError(f"an event has more than {MAX_EVENT_CHARS} characters")
        events = []
        for line in lines:
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def _take(self, line: str) -> ServerSentEvent | None:
        if line == "":
            event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id) if self._data else None
            self._reset()
            return event
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        self._size += len(value)
        if self._size > MAX_EVENT_CHARS:
            raise ValueError(f"an event has more than {MAX_EVENT_CHARS} characters")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None
