"""Loops in frames that take turns: generators, coroutines, a recursion. One kind each, by name; every iteration allocates something
that `malloc` sees. Nothing here runs them in a loop of its own. Says how many iterations each loop made, whether that can be known for
sure, and where it is."""
import asyncio
import collections
import itertools
import sys

kept = []

# Since 3.14 iterators of ranges, lists and tuples go to free lists: nobody notices their end, so it is not known whether a loop
# that was left early made iterations that allocate nothing.
SEES_END = sys.version_info < (3, 14)


def work(size=5000):
    """One event: a block too large for Python's own allocator."""
    kept.append(bytearray(size))
    if len(kept) > 50:
        kept.clear()


def say(kind, iterations, exact, function, offset=1, least=None):
    """With the iterations that are seen in any case, where not all of them are."""
    seen = [] if least is None else [least]
    line = function.__code__.co_firstlineno + offset
    print("loop", kind, iterations, "exact" if exact else "about", line, *seen, flush=True)


def drain(items):
    """Takes all items, without a loop in Python."""
    collections.deque(items, maxlen=0)


def in_turns(generators):
    """An item of each, then the next of each, until all are through."""
    drain(itertools.zip_longest(*generators))


def gather(function, arguments):
    async def main():
        await asyncio.gather(*map(function, arguments))

    asyncio.run(main())


def produce(number):
    for value in range(number):
        work()
        yield value


async def count(number):
    for _ in range(number):
        work()
        await asyncio.sleep(0)


def one_task():
    gather(count, [137])
    say("one_task", 137, True, count)


def tasks():
    gather(count, range(40, 52))
    say("tasks", sum(range(40, 52)), True, count)


def tasks_of_one_iteration():
    """Each ends before the next begins or in between; many get the frame and the iterator of one that has ended."""
    gather(count, [1] * 150)
    say("tasks_of_one_iteration", 150, True, count)


async def await_twice(number):
    for _ in range(number):
        work()
        await asyncio.sleep(0)
        work(6000)
        await asyncio.sleep(0)
        work(7000)


def tasks_that_wait_often():
    """An iteration has several turns."""
    gather(await_twice, range(30, 42))
    say("tasks_that_wait_often", sum(range(30, 42)), True, await_twice)


async def count_in_while(number):
    done = 0
    while done < number:
        work()
        await asyncio.sleep(0)
        work(6000)
        await asyncio.sleep(0)
        done += 1


def tasks_with_while():
    gather(count_in_while, [40] * 9)
    say("tasks_with_while", 40 * 9, False, count_in_while, 2)


async def silent_at_last(number):
    for value in range(number):
        if value < number - 6:
            work()
        await asyncio.sleep(0)


def tasks_with_silent_ends():
    """Nothing is seen of the last iterations: the iterators report them when they are freed."""
    gather(silent_at_last, range(40, 50))
    all_of_them = sum(range(40, 50))
    say("tasks_with_silent_ends", all_of_them, SEES_END, silent_at_last, least=None if SEES_END else all_of_them - 60)


def cancelled_tasks():
    """Left by an exception half-way."""
    turns = []

    async def endless(_):
        for _ in range(100_000):
            work()
            turns.append(None)
            await asyncio.sleep(0)

    async def main():
        waiting = asyncio.gather(*map(endless, range(7)), return_exceptions=True)
        await count(60)
        waiting.cancel()
        try:
            await waiting
        except asyncio.CancelledError:
            pass

    asyncio.run(main())
    say("cancelled_tasks", len(turns), SEES_END, endless)


def two_levels():
    """A loop in a coroutine that another one awaits in its loop, of which there are several."""

    async def inner():
        for _ in range(7):
            work()
            await asyncio.sleep(0)

    async def outer(number):
        for _ in range(number):
            await inner()

    gather(outer, [12, 13, 14])
    say("two_levels", 39, True, outer)


def generators():
    in_turns(map(produce, [60, 70, 80, 90]))
    say("generators", 300, True, produce)


def generators_one_after_another():
    """The next one gets the address of the one before."""
    drain(produce(30))
    drain(produce(30))
    drain(produce(45))
    drain(produce(15))
    say("generators_one_after_another", 120, True, produce)


def nested_generators():
    def inner(number):
        for value in range(number):
            work()
            yield value

    def outer(number):
        for value in range(number):
            work()
            yield from inner(value)

    in_turns([outer(8), outer(9), outer(10)])
    # The outer loops make 27 iterations, so they count; the first one of each yields nothing.
    say("nested_generators", 27, True, outer)


def generator_in_generator():
    """A generator takes its items from another one, whose loop counts: its own reports nothing."""

    def squares(items):
        for item in items:
            yield item * item

    in_turns([squares(produce(35)), squares(produce(45))])
    say("generator_in_generator", 80, True, produce)


def generator_with_a_loop_inside():
    def read(sources):
        for source in sources:
            work()
            for _ in range(4):
                work()
            yield source

    drain(read(bytearray(5000) for _ in range(137)))
    say("generator_with_a_loop_inside", 137, False, read)


def packets(number):
    while number:
        work()
        yield number
        number -= 1


def loop_over_a_generator():
    """Only the generator allocates: while the loop looks for its next item."""

    def read(items):
        for _ in items:
            pass

    read(packets(137))
    say("loop_over_a_generator", 137, False, read, least=136)


def loop_over_a_chain_of_generators():
    def halves(items):
        for item in items:
            yield item
            yield item

    def read(items):
        for _ in items:
            pass

    read(halves(packets(50)))
    say("loop_over_a_chain_of_generators", 100, False, read, least=96)


def loop_over_a_generator_that_skips():
    """Of what its loop goes through it gives a third: the others are no items, and only those count that the body shows."""

    def thirds(items):
        for item in items:
            if item % 3:
                continue
            yield item

    def read(items):
        for _ in items:
            work(6000)

    read(thirds(packets(300)))
    say("loop_over_a_generator_that_skips", 100, False, read, least=99)


def abandoned_generators():
    """Left half-way, and freed."""
    drain(itertools.islice(produce(1000), 30))
    drain(itertools.islice(produce(1000), 40))
    say("abandoned_generators", 70, SEES_END, produce)


def abandoned_among_others():
    """Freed while others go on."""
    first, second, third = produce(1000), produce(50), produce(60)
    drain(itertools.islice(zip(first, second, third), 20))
    del first
    drain(second)
    drain(third)
    say("abandoned_among_others", 20 + 50 + 60, SEES_END, produce)


def kept_generator():
    """Left half-way, and there until Python frees it at its end."""
    kept_generator.items = produce(1000)
    drain(itertools.islice(kept_generator.items, 30))
    drain(produce(40))
    say("kept_generator", 70, SEES_END, produce)


def asynchronous_generators():
    async def rows(number):
        for value in range(number):
            work()
            await asyncio.sleep(0)
            yield value

    async def read(number):
        async for _ in rows(number):
            work(6000)

    gather(read, [40, 50, 60])
    say("asynchronous_generators", 150, True, rows)


def shared_iterator():
    """Workers take jobs from one iterator: it has the iterations of all of them, but cannot say that nobody else took items."""
    jobs = iter(range(200))

    async def worker(_):
        for _ in jobs:
            work()
            await asyncio.sleep(0)

    gather(worker, range(5))
    # Where nobody notices the end of an iterator, one in another frame may be another one: a worker that begins counts an iteration.
    say("shared_iterator", 200 if SEES_END else 210, False, worker, least=200)


def many_generators():
    """More than are kept in mind. What comes back then has made one more iteration, or more."""
    in_turns(map(produce, [30] * 400))
    say("many_generators", 30 * 400, False, produce)


def visit(children):
    for child in children:
        work()
        visit(child)


def recursion():
    tree = [[[[], []], [[]]], [[[], [], []]], [], [[[]], [[], []]]]
    iterations = str(tree).count("[") - 1
    visit(tree)
    visit(tree)
    say("recursion", 2 * iterations, False, visit)


def walk(children):
    for child in children:
        work()
        yield child
        yield from walk(child)


def recursive_generators():
    tree = [[[], [[], []]], [[[]]], [], [[], []]]
    iterations = str(tree).count("[") - 1
    in_turns([walk(tree), walk(tree), walk(tree)])
    say("recursive_generators", 3 * iterations, False, walk)


def server():
    """A server and its clients, all in one thread."""

    async def answer(reader, writer):
        while await reader.readline():
            work()
            writer.write(b"answer\n")
            await writer.drain()
        writer.close()

    async def client(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(45):
            writer.write(b"question\n")
            await reader.readline()
            work(6000)
        writer.close()

    async def main():
        serving = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = serving.sockets[0].getsockname()[1]
        await asyncio.gather(*map(client, [port] * 8))
        serving.close()

    asyncio.run(main())
    say("server", 45 * 8, True, client, 2)


HELPERS = {"work", "say", "drain", "in_turns", "gather", "produce", "packets", "count", "await_twice", "count_in_while", "silent_at_last", "visit", "walk"}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        globals()[sys.argv[1]]()
    else:
        functions = dict.items({**globals()})
        print("\n".join(name for name, value in functions if type(value) is type(work) and name not in HELPERS))
