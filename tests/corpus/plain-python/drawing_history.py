# cause: history-without-bound
# class: plain-python
# report: https://github.com/jeremylongshore/cad-ai-agent/pull/26
# verdict: leak
# line: 33
# bytes-per-iteration: 9500
# holder: undo
# fix: maxlen, limit, bound
# note: Each command pushes a deep copy of the document on the undo stack, which has no limit.

import copy
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


class Drawing:
    def __init__(self, size):
        self.points = [[float(n), float(n * 2)] for n in range(size)]

    def move(self, index, dx, dy):
        point = self.points[index % len(self.points)]
        point[0] += dx
        point[1] += dy


class Editor:
    def __init__(self, drawing):
        self.drawing = drawing
        self.undo = []

    def snapshot(self):
        return copy.deepcopy(self.drawing.points)

    def command(self, index, dx, dy):
        self.undo.append(self.snapshot())
        self.drawing.move(index, dx, dy)

    def revert(self):
        self.drawing.points = self.undo.pop()


editor = Editor(Drawing(100))
for step in range(ITERATIONS):
    editor.command(step, 0.5, -0.25)
    if step % 100 == 99:
        editor.revert()

print(f"truth iterations={ITERATIONS}")
