"""Sets marks and checks for leaks in a program that runs under Heaplens; without Heaplens it does nothing.

Under Heaplens the interpreter has an additional built-in module, ``_heaplens``. An interpreter that is loaded after program
start-up has no such module; only then is the agent called through ctypes, whose import allocates memory that would show in
the report.
"""

from typing import Any, Callable, NamedTuple, Optional

__all__ = ["is_running", "leak_check", "mark", "snapshot"]


def mark(label: str) -> None:
    """Set a mark. Labels may repeat; characters that cannot be encoded as UTF-8 are replaced."""
    if not isinstance(label, str):
        raise TypeError(f"a label is a str, not {type(label).__name__}")
    if _agent.mark is not None:
        _agent.mark(_bytes(label))


def snapshot() -> None:
    """Take a heap snapshot: the types of the blocks and what holds them. This also sets a mark.

    Returns as soon as the snapshot has been taken, usually within milliseconds and after at most ten seconds. The last 16
    snapshots are kept.
    """
    if _agent.snapshot is not None:
        _agent.snapshot()


class leak_check:
    """Check what the body of a ``with`` statement allocates and leaves behind: ``with leak_check("eval"): ...``

    The report lists, by line, what was allocated inside and is lost, or still held at the end, and by what. Passes with the same
    name are summed. All threads count while it is open. It ends with the body, also when that raises an exception.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a name is a str, not {type(name).__name__}")
        self._name = _bytes(name)

    def __enter__(self) -> "leak_check":
        if _agent.begin is not None:
            _agent.begin(self._name)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if _agent.end is not None:
            _agent.end(self._name)


def is_running() -> bool:
    """Return whether this process runs under Heaplens."""
    return _agent.mark is not None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


class _Agent(NamedTuple):
    """What the agent offers; an older one has only the first of them."""

    mark: Optional[Callable[[bytes], None]] = None
    snapshot: Optional[Callable[[], None]] = None
    begin: Optional[Callable[[bytes], None]] = None
    end: Optional[Callable[[bytes], None]] = None


def _find() -> _Agent:
    try:
        import _heaplens
    except ImportError:
        return _find_late()
    names = ("mark", "snapshot", "leak_check_begin", "leak_check_end")
    return _Agent(*(getattr(_heaplens, name, None) for name in names))


def _find_late() -> _Agent:
    try:
        # The environment as the process got it: `os` may have been changed, and is not always loaded.
        from posix import environ

        if b"HEAPLENS_DIR" not in environ:
            return _Agent()
        from ctypes import CDLL, c_char_p

        process = CDLL(None)
        agent = _Agent(
            process.heaplens_mark,
            process.heaplens_snapshot,
            process.heaplens_leak_check_begin,
            process.heaplens_leak_check_end,
        )
        for function in agent:
            function.argtypes, function.restype = [c_char_p], None
        process.heaplens_snapshot.argtypes = []
        return agent
    except (ImportError, AttributeError, OSError):
        return _Agent()  # not a Linux process, no ctypes, or a child that Heaplens does not follow


_agent = _find()
