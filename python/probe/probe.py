"""Runs inside the program, once, before its first line; the agent carries this text.

It runs in a dictionary of its own, which is cleared afterwards: what is to stay must be held elsewhere. It is given
`end_of_script`, to be called before Python's own clean-up frees everything, and `keep`, which holds an object for ever
where the garbage collector does not search.

Nothing is imported that was not there, and nothing is left where the program could see it.
"""

import _imp
import sys


def register_in_own_instance(function):
    """The registry of Python 3.10 and later is the interpreter's: any instance of the module leads to it."""
    module = _imp.create_builtin(type(sys.implementation)(name="atexit"))
    _imp.exec_builtin(module)
    module.register(function)
    vars(module).clear()  # its functions refer to it, and it to them
    keep(vars(module))
    keep(module)  # `python -v` prints every module that is cleaned up


if sys.version_info >= (3, 10):
    # First registered, last called. Before 3.10 the agent does it when the module is made.
    register_in_own_instance(end_of_script)
