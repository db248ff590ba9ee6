# cause: manager-object-grows
# class: processes
# report: https://github.com/python/cpython/issues/103136
# verdict: leak
# line: 25
# bytes-per-iteration: 9600
# holder: games
# fix: clear, bound, maxlen
# note: The object lives in the manager's process and keeps the history of all games; the program that calls it stays small.

import os
from multiprocessing.managers import BaseManager

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Scores:
    """Lives in the manager's process and is called through a proxy."""

    def __init__(self):
        self.best = {}
        self.games = []

    def record(self, player, moves):
        game = "|".join(f"{player} plays {move} of {len(moves)}" for move in range(moves[0], moves[0] + 400))
        self.games.append(game)
        self.best[player] = max(self.best.get(player, 0), len(game))
        return self.best[player]


class Arena(BaseManager):
    pass


Arena.register("Scores", Scores)


def main():
    with Arena() as arena:
        scores = arena.Scores()
        best = 0
        for number in range(ITERATIONS):
            best = max(best, scores.record(f"player{number % 9}", [number, number + 1]))
        print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
