"""Runs inside a program that has imported the framework of the tests."""

import sys
import _weakref as weakref

REGISTERED = counter("toy models registered")
DROPPED = counter("toy models dropped")

living = {}


def watch(toyframework):
    original = toyframework.register

    def register(model):
        key = ~id(model)
        living[key] = weakref.ref(model, lambda reference: living.pop(key, None) and count(DROPPED))
        count(REGISTERED)
        return original(model)

    toyframework.register = register


waiting = [watch]


def install():
    module = sys.modules.get("toyframework")
    if module is None or getattr(module.__spec__, "_initializing", False):
        return False
    while waiting:
        waiting.pop()(module)
    return True
