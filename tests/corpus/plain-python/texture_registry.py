# cause: weak-registry
# class: plain-python
# report: https://github.com/Cyberdrop-DL/cyberdrop-dl/pull/1485
# verdict: clean
# note: The registry is a WeakValueDictionary: a texture leaves it when the last sprite is gone.

import os
import random
import weakref

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Texture:
    def __init__(self, name, rng):
        self.name = name
        self.pixels = rng.randbytes(40_000)

    def brightness(self):
        return sum(self.pixels[::16]) / 2500


class Textures:
    def __init__(self):
        self.loaded = weakref.WeakValueDictionary()
        self.rng = random.Random(30)

    def get(self, name):
        texture = self.loaded.get(name)
        if texture is None:
            texture = self.loaded[name] = Texture(name, self.rng)
        return texture


def scene(textures, number):
    sprites = [textures.get(f"scene{number}/sprite{n % 4}") for n in range(12)]
    return sum(sprite.brightness() for sprite in sprites)


textures = Textures()
light = 0.0
for number in range(ITERATIONS):
    light += scene(textures, number)

print(f"truth iterations={ITERATIONS}")
