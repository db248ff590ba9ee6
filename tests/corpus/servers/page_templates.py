# cause: template-cache-fills
# class: servers
# report: https://jinja.palletsprojects.com/en/stable/api/#jinja2.Environment
# verdict: plateau
# needs: jinja2
# note: Templates come from users by name and are compiled once; the environment keeps the last fifty.

import os

from jinja2 import Environment, FunctionLoader

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "800"))


def load(name):
    number = int(name.split("-")[1])
    rows = "".join(f"<li>{{{{ user }}}} item {n}: {{{{ prices[{n}] * {number} }}}}</li>" for n in range(12))
    return f"<h1>{name}</h1><ul>{rows}</ul>"


class Pages:
    def __init__(self):
        self.environment = Environment(loader=FunctionLoader(load), cache_size=50)

    def render(self, name, user):
        return self.environment.get_template(name).render(user=user, prices=list(range(12)))


pages = Pages()
size = 0
for number in range(ITERATIONS):
    size += len(pages.render(f"page-{number}", f"user{number % 9}"))

print(f"truth iterations={ITERATIONS}")
