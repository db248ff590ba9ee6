"""Sets marks in a program that runs under Heaplens; without Heaplens it does nothing.

Under Heaplens the interpreter has an additional built-in module, ``_heaplens``. An interpreter that is loaded after program
start-up has no such module; only then is the agent called through ctypes, whose import allocates memory that would show in
the report.
"""

from typing import Callable, Optional, Tuple

__all__ = ["is_running", "mark", "snapshot"]


def mark(label: str) -> None:
    """Set a mark. Labels may repeat; characters that cannot be encoded as UTF-8 are replaced."""
    if not isinstance(label, str):
        raise TypeError(f"a label is a str, not {type(label).__name__}")
    if _mark is not None:
        _mark(label.encode("utf-8", "replace").replace(b"\0", b" "))


def snapshot() -> None:
    """Take a heap snapshot: the types of the blocks and what holds them. This also sets a mark.

    Returns as soon as the snapshot has been taken, usually within milliseconds and after at most ten seconds. The last 16
    snapshots are kept.
    """
    if _snapshot is not None:
        _snapshot()


def is_running() -> bool:
    """Return whether this process runs under Heaplens."""
    return _mark is not None


_Functions = Tuple[Optional[Callable[[bytes], None]], Optional[Callable[[], None]]]


def _find() -> _Functions:
    try:
        import _heaplens
    except ImportError:
        return _find_late()
    return _heaplens.mark, getattr(_heaplens, "snapshot", None)  # an older agent has no second one


def _find_late() -> _Functions:
    try:
        # The environment as the process got it: `os` may have been changed, and is not always loaded.
        from posix import environ

        if b"HEAPLENS_DIR" not in environ:
            return None, None
        from ctypes import CDLL, c_char_p

        process = CDLL(None)
        mark, snapshot = process.heaplens_mark, process.heaplens_snapshot
        mark.argtypes, mark.restype = [c_char_p], None
        snapshot.argtypes, snapshot.restype = [], None
        return mark, snapshot
    except (ImportError, AttributeError, OSError):
        return None, None  # not a Linux process, no ctypes, or a child that Heaplens does not follow


_mark, _snapshot = _find()
