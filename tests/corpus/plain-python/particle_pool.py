# cause: pool-reaches-its-size
# class: plain-python
# report: https://en.wikipedia.org/wiki/Object_pool_pattern
# verdict: plateau
# note: Dead particles go back to a pool; after the first bursts the pool answers every demand.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2000"))


class Particle:
    __slots__ = ("x", "y", "speed", "life", "trail")

    def __init__(self):
        self.trail = bytearray(256)

    def start(self, rng):
        self.x = self.y = 0.0
        self.speed = rng.random()
        self.life = rng.randrange(5, 30)
        return self

    def move(self):
        self.x += self.speed
        self.y += self.speed * 0.5
        self.trail[self.life] = int(self.x) % 256
        self.life -= 1
        return self.life > 0


class Emitter:
    def __init__(self, rng):
        self.rng = rng
        self.free = []
        self.active = []

    def burst(self, count):
        for _ in range(count):
            particle = self.free.pop() if self.free else Particle()
            self.active.append(particle.start(self.rng))

    def frame(self):
        alive = []
        for particle in self.active:
            (alive if particle.move() else self.free).append(particle)
        self.active = alive


emitter = Emitter(random.Random(20))
for frame in range(ITERATIONS):
    emitter.burst(100 + frame % 50)
    emitter.frame()

print(f"truth iterations={ITERATIONS}")
