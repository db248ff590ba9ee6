# cause: images-in-dict
# class: numpy
# report: https://github.com/python-pillow/Pillow/issues/4276
# verdict: leak
# line: 30
# bytes-per-iteration: 66500
# holder: avatars
# fix: bound, lru, evict, bytes
# needs: pillow
# note: The cache is keyed by an address that contains the time, so nothing is found again; an RGB image of 128 by 128 is 64 KiB (four bytes a pixel) with its line table.

import os

from PIL import Image, ImageFilter


class Avatars:
    def __init__(self):
        self.avatars = {}
        self.source = Image.linear_gradient("L").convert("RGB")

    def get(self, address):
        if address not in self.avatars:
            self.avatars[address] = self.render(len(address) + len(self.avatars))
        return self.avatars[address]

    def render(self, number):
        turned = self.source.rotate(number % 360)
        soft = turned.filter(ImageFilter.GaussianBlur(2))
        return soft.resize((128, 128))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "500"))
    avatars = Avatars()
    total = 0
    for second in range(iterations):
        image = avatars.get(f"/avatar/17?t={second}")
        total += image.getpixel((64, 64))[0]
    print(len(avatars.avatars), total)
    print(f"truth iterations={iterations}")


main()
