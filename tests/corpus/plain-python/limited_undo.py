# cause: history-with-bound
# class: plain-python
# report: https://github.com/snegovick/bcam/issues/64
# verdict: plateau
# note: Snapshots go to an undo list of fifty; the oldest is dropped for each new one.

import copy
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
LIMIT = 50


class Sheet:
    def __init__(self):
        self.cells = {(row, column): row * column for row in range(20) for column in range(20)}
        self.states = []
        self.cursor = -1

    def edit(self, row, column, value):
        self.cells[row % 20, column % 20] = value
        del self.states[self.cursor + 1 :]
        self.states.append(copy.deepcopy(self.cells))
        if len(self.states) > LIMIT:
            self.states.pop(0)
        self.cursor = len(self.states) - 1

    def undo(self):
        if self.cursor > 0:
            self.cursor -= 1
            self.cells = copy.deepcopy(self.states[self.cursor])


sheet = Sheet()
for step in range(ITERATIONS):
    sheet.edit(step, step * 3, step)
    if step % 25 == 24:
        sheet.undo()

print(f"truth iterations={ITERATIONS}")
