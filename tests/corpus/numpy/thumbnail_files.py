# cause: images-closed
# class: numpy
# report: https://github.com/python-pillow/Pillow/issues/7961
# verdict: clean
# needs: pillow
# note: Each image is opened in a with block, loaded, reduced and saved to a buffer that goes with the call.

import io
import os
import tempfile

from PIL import Image


def create(folder):
    paths = []
    for number in range(4):
        path = os.path.join(folder, f"photo-{number}.png")
        Image.radial_gradient("L").resize((600, 400 + number)).convert("RGB").save(path)
        paths.append(path)
    return paths


def thumbnail(path):
    with Image.open(path) as image:
        image.load()
        image.thumbnail((160, 160))
        out = io.BytesIO()
        image.save(out, "JPEG")
    return len(out.getvalue())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = create(folder)
        for number in range(iterations):
            total += thumbnail(paths[number % len(paths)])
    print(total)
    print(f"truth iterations={iterations}")


main()
