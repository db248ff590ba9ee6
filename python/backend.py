"""Makes the wheel of the package (PEP 517): a zip of its files and their hashes, with the standard library alone.

Any other backend would have to be fetched before a package of one file could be installed.
"""

import base64
import hashlib
import io
import os
import tarfile
import zipfile

NAME, VERSION = "heaplens", "0.1.0"
METADATA = f"""\
Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: Marks for Heaplens: names the moments of a program whose memory is being recorded
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""
WHEEL = """\
Wheel-Version: 1.0
Generator: heaplens
Root-Is-Purelib: true
Tag: py3-none-any
"""
PACKAGE = ["heaplens/__init__.py", "heaplens/py.typed"]
SOURCES = PACKAGE + ["README.md", "backend.py", "pyproject.toml"]
# Of every file in an archive, so that equal sources make equal archives: the first moment that a zip can name.
MOMENT = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and gives back its file name."""
    info = f"{NAME}-{VERSION}.dist-info"
    files = {path: _read(path) for path in PACKAGE}
    files[f"{info}/METADATA"] = _metadata()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, MOMENT)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the sources and gives back their file name."""
    base = f"{NAME}-{VERSION}"
    files = {path: _read(path) for path in SOURCES}
    files["PKG-INFO"] = _metadata()
    with tarfile.open(os.path.join(sdist_directory, f"{base}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{base}.tar.gz"


def _metadata():
    return METADATA.encode() + _read("README.md")


def _record(files, own_path):
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    return "\n".join(rows + [f"{own_path},,", ""]).encode()


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _read(path):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), path), "rb") as file:
        return file.read()
