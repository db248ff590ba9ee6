"""A loop whose iterations allocate at one line at first, and later at another, in every eighth of them. Says which these are, but for
the first. It makes fewer iterations than there are numbers that Python has ready."""

warm, kept = [], []


def work():
    for step in range(250):
        if step < 61:
            warm.append(bytearray(10026))
        if step % 8 == 0:
            kept.append(bytearray(52495))


work()
print(*range(73, 250, 8))
