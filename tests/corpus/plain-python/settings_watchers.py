# cause: event-listeners-kept
# class: plain-python
# report: https://github.com/getsentry/raven-python/pull/147
# verdict: leak
# line: 32
# bytes-per-iteration: 12800
# holder: listeners
# fix: unsubscribe, remove, weak, disconnect
# note: Every editor subscribes a closure to the one settings object and never leaves; the closure's cell keeps the editor with its text.

import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Settings:
    def __init__(self):
        self.listeners = {}
        self.values = {"tab": 4, "wrap": 80}

    def subscribe(self, name, callback):
        self.listeners.setdefault(name, []).append(callback)

    def set(self, name, value):
        self.values[name] = value
        for callback in self.listeners.get(name, ())[-5:]:
            callback(value)


class Editor:
    def __init__(self, settings, lines):
        self.text = "\n".join(lines)
        self.tab = settings.values["tab"]

        def on_tab(value):
            self.tab = value

        settings.subscribe("tab", on_tab)

    def indented(self):
        return sum(1 for line in self.text.split("\n") if line.startswith(" " * self.tab))


def edit(settings, number):
    lines = [f"{' ' * (n % 9)}value_{number} = compute({n}, {number * n % 613}, 'text')" for n in range(290)]
    editor = Editor(settings, lines)
    settings.set("tab", 2 + number % 3)
    return editor.indented()


def main():
    settings = Settings()
    total = sum(edit(settings, number) for number in range(ITERATIONS))
    print(f"truth iterations={ITERATIONS}")
    return total


main()
