#!/usr/bin/env python3
"""Draws docs/tile-layouts.svg: which thread of a block has which elements of a tile.

    scripts/tile_layouts.py > docs/tile-layouts.svg
"""

CELL, GAP, TOP = 22, 70, 46
PANELS = [
    ("dealt out: 8 x 8, 16 threads", 8, 8, lambda r, c: (r * 8 + c) % 16, 16),
    ("in registers: 16 x 16, patches of 4 x 4", 16, 16, lambda r, c: r // 4 * 4 + c // 4, 16),
    ("32 chains of a sum: 8 x 16", 8, 16, lambda r, c: (r * 16 + c) % 32, 32),
]


def main():
    width = sum(columns * CELL + GAP for _, _, columns, _, _ in PANELS) + 20
    height = TOP + max(rows for _, rows, *_ in PANELS) * CELL + 20
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10" text-anchor="middle">')
    print(f'<rect width="{width}" height="{height}" fill="white"/>')
    left = 20
    for title, rows, columns, owner, count in PANELS:
        print(f'<text x="{left}" y="28" font-size="14" text-anchor="start">{title}</text>')
        for row in range(rows):
            for column in range(columns):
                number = owner(row, column)
                x, y = left + column * CELL, TOP + row * CELL
                color = f"hsl({360 * number // count}, 70%, {86 if number % 2 else 78}%)"
                print(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{color}" stroke="white"/>')
                print(f'<text x="{x + CELL // 2}" y="{y + 15}">{number}</text>')
        left += columns * CELL + GAP
    print("</svg>")


if __name__ == "__main__":
    main()
