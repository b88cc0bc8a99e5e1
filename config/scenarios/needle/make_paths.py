#!/usr/bin/env python3
"""Writes pick_up_path.csv: forceps that pick a needle up, turn it, let it fall and pick it up again.

Poses of T in W over time (CONTRACT): t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg. The jaws come down at a slant, their
faces along the wire where they take it.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from hands import Path, cross, quaternion  # noqa: E402

OPEN, SHUT = 1.2, 0.0
SLANT = 1.0  # of the jaws from the vertical [rad]


def holding(heading):
    """Jaws that come down slanted, their faces along a wire that lies in this direction [rad]."""
    along = (math.cos(heading), math.sin(heading), 0.0)
    x = tuple(-math.cos(SLANT) * (i == 2) + math.sin(SLANT) * along[i] for i in range(3))
    y = cross((0.0, 0.0, 1.0), along)
    return quaternion(x, y, cross(x, y))


def rows():
    # Where the wire's middle lies, and which way it runs there: at the start, and where it has fallen to.
    first, second = (1.962, 1.311, 0.02), (FALLEN_X, FALLEN_Y, 0.02)
    heading, fallen = 1.1781, FALLEN_HEADING
    turned = holding(heading + math.pi / 2)
    def at(p, up):
        return (p[0], p[1], p[2] + up)
    yield 0.0, at(first, 6), holding(heading), OPEN
    yield 0.4, at(first, 0), holding(heading), OPEN
    yield 0.5, at(first, 0), holding(heading), OPEN
    yield 0.8, at(first, 0), holding(heading), SHUT
    yield 0.9, at(first, 0), holding(heading), SHUT
    yield 1.5, at(first, 6), holding(heading), SHUT
    yield 2.3, at(first, 6), turned, SHUT
    yield 2.8, at(first, 1.5), turned, SHUT
    yield 2.9, at(first, 1.5), turned, SHUT
    yield 3.1, at(first, 1.5), turned, OPEN
    yield 3.5, at(first, 8), turned, OPEN
    yield 4.1, at(second, 8), holding(fallen), OPEN
    yield 4.6, at(second, 0), holding(fallen), OPEN
    yield 4.7, at(second, 0), holding(fallen), OPEN
    yield 5.0, at(second, 0), holding(fallen), SHUT
    yield 5.1, at(second, 0), holding(fallen), SHUT
    yield 5.7, at(second, 6), holding(fallen), SHUT
    yield 6.5, at(second, 6), holding(fallen), SHUT


FALLEN_X, FALLEN_Y, FALLEN_HEADING = 2.02, 1.37, 2.75

if __name__ == "__main__":
    path = Path()
    for row in rows():
        path.to(*row)
    path.write(pathlib.Path(__file__).with_name("pick_up_path.csv"), digits=6)
