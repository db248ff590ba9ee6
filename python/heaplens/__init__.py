"""Names moments of a program whose memory Heaplens records; without Heaplens nothing happens.

Under Heaplens the interpreter has one built-in module more, ``_heaplens``. An interpreter that a program loaded long after
its start has no such module; there, and only there, the agent is called through ctypes, whose import takes memory that the
report would show.
"""

from typing import Callable, Optional, Tuple

__all__ = ["is_running", "mark", "snapshot"]


def mark(label: str) -> None:
    """Names this moment. Labels may repeat; characters that UTF-8 does not have are replaced."""
    if not isinstance(label, str):
        raise TypeError(f"a label is a str, not {type(label).__name__}")
    if _mark is not None:
        _mark(label.encode("utf-8", "replace").replace(b"\0", b" "))


def snapshot() -> None:
    """Has Heaplens look at the heap: what the blocks are and who holds them. It is a mark, too.

    This returns as soon as there is an image to look at, milliseconds later as a rule and ten seconds at most. Of many looks
    the last 16 are kept.
    """
    if _snapshot is not None:
        _snapshot()


def is_running() -> bool:
    """Whether this process runs under Heaplens."""
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
