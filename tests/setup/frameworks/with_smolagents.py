"""What an agent of smolagents does with E2B's code interpreter. It prints each step that went well."""

from smolagents import CodeAgent, Tool
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.utils import AgentError


def passed(name: str) -> None:
    print(f"passed: {name}")


def check(actual, expected) -> None:
    assert actual == expected, f"{actual!r} is not {expected!r}"


class Script(Model):
    """In place of a language model: it answers with the next piece of code."""

    def __init__(self, *pieces: str):
        super().__init__(model_id="script")
        self.pieces = list(pieces)

    def generate(self, *_args, **_kwargs) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{self.pieces.pop(0)}\n</code>")


class Double(Tool):
    name = "double"
    description = "Doubles a number."
    inputs = {"number": {"type": "integer", "description": "The number"}}
    output_type = "integer"

    def forward(self, number: int) -> int:
        return number * 2


# An object that is shown as a picture.
DOT = """
import base64
class Dot:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
Dot()
"""

pieces = ("x = double(number=20)\nprint('step 1')", "1 / 0", "final_answer({'x': x + offset, 'of': (1, 2)})")
agent = CodeAgent(
    tools=[Double()],
    model=Script(*pieces),
    executor_type="e2b",
    executor_kwargs={"timeout": 600},
    verbosity_level=0,
)
with agent:
    check(agent.python_executor.installed_packages, [])
    check(agent.run("Double 20.", additional_args={"offset": 2}), {"x": 42, "of": (1, 2)})
    steps = [step for step in agent.memory.steps if hasattr(step, "observations")]
    assert "step 1" in steps[0].observations, steps[0].observations
    assert "ZeroDivisionError" in str(steps[1].error), steps[1].error
    passed("an agent's steps")

    executor = agent.python_executor
    output = executor("print('out')\nx + 1")
    check((output.output, output.logs, output.is_final_answer), ("41", "out\n", False))
    executor.send_variables({"names": ["a", "b"], "raw": b"\x00", "at": {1: None}})
    check(executor("[names, raw, at]").output, "[['a', 'b'], b'\\x00', {1: None}]")
    check(executor("y = 1").output, None)
    try:
        executor("undefined_name")
        raise AssertionError("it did not fail")
    except AgentError as error:
        assert "NameError" in str(error), error
    picture = executor(DOT)
    check(picture.output.size, (1, 1))
    answer = executor("final_answer('done')")
    check((answer.output, answer.is_final_answer), ("done", True))
    sandbox = executor.sandbox
    passed("an executor's calls")

check(sandbox.is_running(), False)
passed("the end")
