"""Writes pictures, PNG files of 8 bits; and reads what a program is called with."""

import argparse
import struct
import zlib

import numpy as np


def save(path, values):
    """Grey values or RGB colours from 0 to 1, with the first row at the top."""
    pixels = (np.clip(values, 0.0, 1.0) * 255.0).astype(np.uint8)
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    # Each pixel less the one to its left, which packs better.
    differences = np.diff(pixels, axis=1, prepend=np.zeros_like(pixels[:, :1]))
    rows = b"".join(b"\1" + row.tobytes() for row in differences)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def arguments(file, devices=False):
    """The picture's file and the device that a program is called with: `--device cuda`, or the host. With `devices` a list of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", default=file)
    parser.add_argument("--device", default="cpu", help="where it runs" + (": several, separated by commas" if devices else ""))
    given = parser.parse_args()
    return given.file, given.device.split(",") if devices else given.device


def halved(values):
    """Half as many rows and columns: the mean of each square of four."""
    height, width = values.shape[0] // 2, values.shape[1] // 2
    return values[: 2 * height, : 2 * width].reshape(height, 2, width, 2, -1).mean(axis=(1, 3))
