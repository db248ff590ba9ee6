"""Loops of one kind each, by name; every iteration allocates something that `malloc` sees. Says how many iterations the loop that
counts made, whether that can be known for sure, and where it is."""
import ctypes
import queue
import sys
import threading

kept = []

# Since 3.14 iterators of ranges, lists and tuples go to free lists: nobody notices their end, but the next event finds them there. That of
# a list has forgotten its index by then, so the list must be what it was.
SEES_END = sys.version_info < (3, 14)


def work(size=5000):
    """One event: a block too large for Python's own allocator."""
    kept.append(bytearray(size))
    if len(kept) > 50:
        kept.clear()


def here(offset=0):
    return sys._getframe(1).f_lineno + offset


def say(kind, passes, exact, line, least=None):
    """With the iterations that are seen in any case, where not all of them are."""
    seen = [] if least is None else [least]
    print("loop", kind, passes, "exact" if exact else "about", line, *seen, flush=True)


def for_range():
    line = here(1)
    for _ in range(137):
        work()
    say("for_range", 137, True, line)


def for_range_from_one():
    line = here(1)
    for _ in range(1, 101):
        work()
    say("for_range_from_one", 100, sys.version_info < (3, 12), line)


def for_list():
    line = here(1)
    for _ in ["x"] * 77:
        work()
    say("for_list", 77, True, line)


def for_enumerate():
    line = here(1)
    for _, _ in enumerate([None] * 66):
        work()
    say("for_enumerate", 66, True, line)


def for_zip():
    line = here(1)
    for _, _ in zip(range(55), ["y"] * 55):
        work()
    say("for_zip", 55, True, line)


def for_dict():
    items = dict.fromkeys(range(44))
    line = here(1)
    for _ in items:
        work()
    say("for_dict", 44, True, line)


def for_break():
    line = here(1)
    for number in range(1000):
        work()
        if number == 90:
            break
    say("for_break", 91, True, line)


def for_with_silent_passes():
    """Only every tenth iteration can be seen: the iterator counts the others, but since 3.12 not whether it began at 0."""
    line = here(1)
    for number in range(300):
        if number % 10 == 9:
            work()
    say("for_with_silent_passes", 300, sys.version_info < (3, 12), line)


def silent_end(items, silent=7):
    """Nothing is seen of the last iterations."""
    line = here(1)
    for number in items:
        if number < 60 - silent:
            work()
    return line


def silent_end_of_range():
    line = silent_end(range(60))
    say("silent_end_of_range", 60, True, line)


def silent_end_of_list():
    line = silent_end(list(range(60)))
    say("silent_end_of_list", 60 if SEES_END else 53, SEES_END, line)


def silent_end_of_tuple():
    line = silent_end(tuple(range(60)))
    say("silent_end_of_tuple", 60, True, line)


def silent_end_of_dict():
    line = silent_end(dict.fromkeys(range(60)))
    say("silent_end_of_dict", 60, True, line)


def silent_end_of_enumerate():
    line = here(1)
    for number, _ in enumerate([None] * 60, -30):
        if number < 20:
            work()
    say("silent_end_of_enumerate", 60, True, line)


def silent_end_of_zip():
    """The first iterator of a zip may be one item ahead of the loop: that no more iterations came is not known."""
    line = here(1)
    for number, _ in zip(range(60), range(60)):
        if number < 53:
            work()
    say("silent_end_of_zip", 53, False, line)


def silent_before_break():
    line = here(1)
    for number in range(1000):
        if number < 60:
            work()
        if number == 90:
            break
    say("silent_before_break", 91, True, line)


def silent_before_exception():
    line = here(2)
    try:
        for number in range(1000):
            if number < 60:
                work()
            if number == 90:
                raise ValueError(number)
    except ValueError:
        pass
    say("silent_before_exception", 91, True, line)


def list_that_grows():
    """What is to come is appended meanwhile; of the last iterations nothing is seen."""
    tasks = list(range(30))
    line = here(1)
    for number in tasks:
        if number < 30:
            work()
        if number < 90:
            tasks.append(number + 30)
    say("list_that_grows", 120, SEES_END, line, None if SEES_END else 60)


def list_that_shrinks():
    """The last iteration ends the loop one item early. Since 3.13 the iterator forgets its index then."""
    items = list(range(60))
    line = here(1)
    for number in items:
        if number < 58:
            work()
        if number == 59:
            items.pop()
    knows = sys.version_info < (3, 13)
    say("list_that_shrinks", 60 if knows else 58, knows, line)


def dict_that_changes():
    """Python ends the loop with an exception."""
    items = dict.fromkeys(range(100))
    line = here(2)
    try:
        for number in items:
            if number < 40:
                work()
            if number == 49:
                items["one more"] = None
    except RuntimeError:
        pass
    say("dict_that_changes", 50, True, line)


def late(number):
    """Only the last iteration is seen."""
    for value in range(number):
        if value == number - 1:
            work()


def same_frame_again():
    """Each time the frame and the iterator are where they were, and have come as far when they are seen."""
    late(30)
    late(30)
    late(30)
    exact = sys.version_info < (3, 12)
    say("same_frame_again", 90, exact, late.__code__.co_firstlineno + 2, None if SEES_END else 30)


def late_in(items):
    """Only the last iteration is seen."""
    for value in items:
        if value == items[-1]:
            work()


def same_list_again():
    """As before; where nobody notices the end of an iterator, the next one is taken for it."""
    items = list(range(30))
    late_in(items)
    late_in(items)
    late_in(items)
    say("same_list_again", 90 if SEES_END else 30, SEES_END, late_in.__code__.co_firstlineno + 2)


def shared_by_comprehension():
    """The first item is not the loop's."""
    items = iter([None] * 60)
    next(items)
    line = here(1)
    results = [work() for _ in items]
    say("shared_by_comprehension", len(results) + 1, False, line)


def shared_by_generator_expression():
    """The loop around takes what the expression gives: one item less than the iterator had."""
    items = iter([None] * 60)
    next(items)
    line = here(1)
    for _ in (work() for _ in items):
        pass
    say("shared_by_generator_expression", 59, False, line)


def shared_at_first():
    """When the others let go of the iterator, they have taken items already."""
    items = iter([None] * 200)
    passes = 0
    line = here(1)
    for _ in items:
        work()
        passes += 1
        if passes < 30:
            next(items)
        elif passes == 30:
            del items
    say("shared_at_first", 200, False, line)


def shared_iterator():
    """Each iteration takes two items: what the iterator counts is not the iterations of the loop."""
    items = iter([None] * 200)
    line = here(1)
    for _ in items:
        next(items)
        work()
    say("shared_iterator", 200, False, line)


def while_counter():
    number = 0
    line = here(1)
    while number < 120:
        work()
        number += 1
    say("while_counter", 120, False, line)


def while_true():
    number = 0
    line = here(1)
    while True:
        work()
        number += 1
        if number == 130:
            break
    say("while_true", 130, False, line)


def while_of_one_place():
    """All events of an iteration come from one location."""
    line = here(1)
    while len(kept) < 40:
        work()
    say("while_of_one_place", 40, False, line)


def while_over_a_queue():
    """Now and then the queue itself allocates, before the task of an iteration does."""
    numbers = queue.SimpleQueue()
    any(map(numbers.put, range(600)))
    line = here(1)
    while not numbers.empty():
        number = numbers.get()
        work(5000 + number % 2)
    say("while_over_a_queue", 600, False, line, 595)


def while_with_calls_from_c():
    """A function of C calls the same function several times in an iteration."""
    number = 0
    line = here(1)
    while number < 60:
        work()
        any(map(grow, [6000] * 5))
        number += 1
    say("while_with_calls_from_c", 60, False, line)


def grow(size):
    work(size)


def two_loops(count):
    for _ in range(count):
        work()
    return [work() for _ in range(count)]


def while_around_two_loops():
    """Each iteration is at one place, where two loops begin."""
    done = []
    line = here(1)
    while len(done) < 50:
        done.append(two_loops(3))
    say("while_around_two_loops", 50, False, line)


def while_with_two_calls():
    """Each iteration is at two places, where the same loops begin."""
    number = 0
    line = here(1)
    while number < 45:
        two_loops(3)
        two_loops(2)
        number += 1
    say("while_with_two_calls", 45, False, line)


def while_around_changing_loops():
    """What begins in each iteration is another loop in the second half."""
    number = 0
    line = here(1)
    while number < 60:
        number += one_of_two(number)
    say("while_around_changing_loops", 60, False, line)


def one_of_two(number):
    if number < 30:
        for _ in range(3):
            work()
    else:
        for _ in range(4):
            work()
    return 1


def comprehension():
    line = here(1)
    results = [work() for _ in range(150)]
    say("comprehension", len(results), True, line)


def nested():
    """Twenty iterations are enough to count."""
    line = here(1)
    for _ in range(20):
        for _ in range(30):
            work()
    say("nested", 20, True, line)


def nested_short():
    line = here(2)
    for _ in range(5):
        for _ in range(30):
            work()
    say("nested_short", 150, True, line)


def epoch():
    for _ in range(25):
        work()


def in_called_function():
    line = here(1)
    for _ in range(40):
        epoch()
    say("in_called_function", 40, True, line)


def called_rarely():
    for _ in range(3):
        epoch()
    say("called_rarely", 75, True, epoch.__code__.co_firstlineno + 1)


def while_around_for():
    number = 0
    line = here(1)
    while number < 60:
        for _ in range(7):
            work()
        number += 1
    say("while_around_for", 60, False, line)


def produce(number):
    for value in range(number):
        work()
        yield value


def generator():
    line = here(1)
    for _ in produce(80):
        work(6000)
    say("generator", 80, False, line)


def produce_and_end(number):
    for value in range(number):
        work()
        yield value
    work(7000)


def four_times(items_of):
    for _ in range(4):
        for _ in items_of(30):
            work(6000)
    return four_times.__code__.co_firstlineno + 2


def generator_that_works_at_its_end():
    """When there is no item left, code of the generator runs once more."""
    line = four_times(produce_and_end)
    say("generator_that_works_at_its_end", 120, False, line)


class Countdown:
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        return self

    def __next__(self):
        work()
        self.number -= 1
        if self.number < 0:
            work(7000)
            raise StopIteration
        return self.number


def iterator_of_a_class():
    line = four_times(Countdown)
    say("iterator_of_a_class", 120, False, line)


async def step():
    work()


async def in_async():
    import asyncio
    line = here(1)
    for _ in range(90):
        await step()
        await asyncio.sleep(0)
    say("asynchronous", 90, True, line)


def asynchronous():
    import asyncio
    asyncio.run(in_async())


def with_exceptions():
    line = here(1)
    for number in range(70):
        try:
            work()
            if number % 2:
                raise ValueError(number)
        except ValueError:
            work(7000)
            continue
        work(8000)
    say("with_exceptions", 70, True, line)


class Room:
    """Its end allocates, and lets go of what was on the stack of whoever left it."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for size in (5000, 6000):
            work(size)


def leaves_early(number):
    try:
        with Room():
            for value in [str(number + other) for other in range(40)]:
                for part in iter(value * 9):
                    work()
                    if number % 3:
                        return [part] * 70
                    break
    finally:
        if number % 2:
            work(7000)
        else:
            work(8000)
    return None


def left_by_return():
    """A return takes iterators off the stack, then the rooms around the loops end, between the loops' own instructions."""
    line = here(1)
    for number in range(120):
        leaves_early(number)
    say("left_by_return", 120, True, line)


def callbacks():
    """C calls back into Python, which allocates."""
    compare = ctypes.CFUNCTYPE(None)(work)
    line = here(1)
    for _ in range(64):
        compare()
    say("callbacks", 64, True, line)


def two_threads():
    """One loop is much longer than the other may wait for a CPU between its iterations."""
    lines = []

    def short():
        for _ in range(30):
            work()

    def long():
        lines.append(here(1))
        for _ in range(50000):
            work()

    threads = [threading.Thread(target=target) for target in (short, long)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("two_threads", 50000, True, lines[0])


def no_loop():
    work()
    print("loop no_loop 0 - 0", flush=True)


HELPERS = {"work", "grow", "here", "say", "epoch", "produce", "produce_and_end", "four_times", "step", "in_async", "leaves_early", "two_loops", "one_of_two", "while_around_changing_loops", "silent_end", "late", "late_in"}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        globals()[sys.argv[1]]()
    else:
        print("\n".join(name for name, value in list(globals().items()) if type(value) is type(work) and name not in HELPERS))
