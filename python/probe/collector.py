"""Runs before a collection that is a test; the agent carries this text.

It is given `counter` and `note`, and notes what keeps Python's collector from coming by itself, where something does.
"""

import gc
import sys

COLLECTOR_HELD = counter("reasons why the collector does not come")
# Objects to a full collection by the thresholds: 70,000 up to 3.12, 200,000 in 3.13.
MANY = 1_000_000



def reason():
    thresholds = gc.get_threshold()
    steps = 1
    for threshold in thresholds:
        steps *= max(threshold, 1)
    # From 3.10 on the agent itself asks whether it is switched off, and switches it off while this runs.
    if not thresholds[0] or sys.version_info < (3, 10) and not gc.isenabled():
        return "the collector is switched off"
    if steps > MANY:
        return "the thresholds of the collector were raised: %s" % (thresholds,)
    return None


found = reason()
if found:
    note(COLLECTOR_HELD, found.encode())
