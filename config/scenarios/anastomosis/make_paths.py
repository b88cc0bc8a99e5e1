#!/usr/bin/env python3
"""Writes right_path.csv and left_path.csv: the scripted trainee of the anastomosis, and *_aims.csv: what he looks at.

The right hand picks the needle up near its swage, stands it upright and drives it along its own circle: through the wall
of the one vessel from outside, through both open ends, and through the wall of the other from inside. The left hand
takes the point, draws the needle out along the circle and the thread after it. Then the knot (throws.py).

granny_*_path.csv: one who winds both throws the same way, and takes less care: he has the needle at the tips, does not
roll it into the line of the thread as he pulls a throw together, and shuts his jaws as soon as they are there. drop_right_path.csv: one who lets
the needle fall. torn_*_path.csv: one whose hands pull both ends of a stitch that is already there (torn.toml) until the
wall tears.

Poses of T in W over time (CONTRACT): t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg.
"""
import argparse
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from hands import DEG, Path, add, cross, pointing, quaternion, write_aims  # noqa: E402
from sight import SEEN, Sight  # noqa: E402
from throws import aim, back_to_path, tie  # noqa: E402

# The needle: where its swage lies on the bench, and its arc.
SWAGE = (0.0, -6.0, 0.036)
ARC_MM, ARC_DEG = 3.0, 180.0
RADIUS = ARC_MM / (ARC_DEG * DEG)
AXIS, TOP = 2.0, 2.5  # of the vessels
PULLED = 13.0
CUT = 55.0  # at these angles from the lowest place its circle cuts the top of the vessels [deg]
CENTRE = (0.0, 0.0, TOP + RADIUS * math.cos(CUT * DEG))

RIGHT_AT = 15.0  # from the swage [deg of arc]
DEEP = 0.3       # so far behind its tips the left hand takes the needle, where a pull does not turn it [mm]
OPEN, SHUT = 0.2, 0.0
BESIDE = 0.43  # the faces 0.9 mm apart [deg]
WIDE = 0.5


def jaws(normal, along, across):
    """Jaws across a wire that runs along `along` and bends about `normal`: they point against the normal (across > 0) or
    along it, and lean over by |across| [rad]."""
    c, s = math.cos(across), math.sin(abs(across))
    x = tuple((-c if across > 0 else c) * n + (s if across > 0 else -s) * a for n, a in zip(normal, along))
    y = cross(normal, along)
    return quaternion(x, y, cross(x, y))


def on_circle(angle):
    """Place and direction of the needle's circle, upright [deg from the lowest place towards +x]."""
    s, c = math.sin(angle * DEG), math.cos(angle * DEG)
    return add(CENTRE, (s, 0.0, -c), RADIUS), (c, 0.0, s)


TAIL = (-3.76, 0.0, 4.7)  # a place of the tail in torn.toml
UPRIGHT = (0.0, -1.0, 0.0)
LEAN = 0.6


def lying(arc):
    """Place and direction of the needle as it lies, so far from its swage [deg]."""
    a = arc * DEG
    place = add(SWAGE, (-math.sin(a), math.cos(a) - 1, 0.0), RADIUS)
    return place, (-math.cos(a), -math.sin(a), 0.0)


def drive(path, begin, end, first, last, at, lean, deep=0.0):
    """Along the circle: the place `at` that the jaws hold, so far behind their tips, goes from angle `first` to `last`."""
    count = max(2, round((end - begin) / 0.05))
    for k in range(1, count + 1):
        u = k / count
        u = u * u * (3 - 2 * u)
        angle = first + u * (last - first)
        place, along = on_circle(angle + at)
        q = jaws(UPRIGHT, along, lean)
        path.to(begin + (end - begin) * k / count, add(place, pointing(q), deep), q, SHUT)


def right_and_left(sight, granny=False):
    right, left = Path(), Path()
    deep = 0.0 if granny else DEEP
    # Angles are those of the point.
    held = RIGHT_AT - ARC_DEG
    start, through = -80.0, 96.0
    place, along = lying(RIGHT_AT)
    flat = jaws((0.0, 0.0, 1.0), along, LEAN)
    right.to(0.0, add(place, (0, 0, 6)), flat, OPEN)
    right.to(0.6, place, flat, OPEN)
    right.stay(0.7)
    right.stay(0.9, SHUT)
    right.stay(1.0)
    right.to(1.6, add(place, (0, 0, 6)), flat, SHUT)
    ready, along = on_circle(start + held)
    upright = jaws(UPRIGHT, along, LEAN)
    right.to(2.6, add(ready, (0, 0, 3)), upright, SHUT)
    right.to(3.2, ready, upright, SHUT)
    right.stay(3.3)
    drive(right, 3.3, 4.8, start, 0.0, held, LEAN)
    right.stay(5.4)
    drive(right, 5.4, 6.6, 0.0, through, held, LEAN)
    right.stay(7.7)
    right.stay(7.8, OPEN)
    _, last, q, _ = right.rows[-1]
    right.to(7.9, last, q, OPEN)
    right.to(8.6, add(last, (-1.0, -8.0, 5.0)), q, WIDE)

    # The left hand steadies the first end, one jaw on either side, while it is pierced.
    steady = (-0.45, 0.0, AXIS - 0.1)
    q = quaternion((math.sqrt(0.5), 0.0, -math.sqrt(0.5)), (0.0, 1.0, 0.0), (math.sqrt(0.5), 0.0, math.sqrt(0.5)))
    left.to(0.0, add(steady, (-3.0, 0.0, 4.0)), q, BESIDE + 0.5)
    left.to(2.4, add(steady, (-2.0, 0.0, 2.0)), q, BESIDE + 0.5)
    left.to(2.8, steady, q, BESIDE + 0.5)
    left.to(3.1, steady, q, BESIDE)
    left.stay(4.9)
    left.to(5.0, steady, q, BESIDE + 0.5)
    left.to(5.3, add(steady, (-2.0, 0.0, 2.0)), q, BESIDE + 0.5)
    left_at = -12.0  # of the point's angle: the jaws are behind it
    grip, along = on_circle(through + left_at)
    q = jaws(UPRIGHT, along, -LEAN)
    left_aims = [(*aim(6.6, 0.5, "last", -left_at * DEG * RADIUS, grip), 1.0, 1.0, 1.0), back_to_path(10.0, 1.0)]
    left.to(6.5, add(grip, (2.0, 6.0, 4.0)), q, OPEN)
    left.to(7.1, add(grip, pointing(q), deep), q, OPEN)
    left.stay(7.2)
    left.stay(7.5, SHUT)
    left.stay(8.0)
    drive(left, 8.0, 10.0, through, through + 152.0, left_at, -LEAN, deep)
    _, out, q, _ = left.rows[-1]
    left.to(PULLED, add(out, (5.65, 0.0, 12.65)), q, SHUT)
    cut, done, *aims = tie(right, left, PULLED + 0.4, sight, left_aims, deep, granny)
    print(f"{sight.scenario}: cuts_s = [{cut:.2f}], done at {done:.2f} s")
    for name, rows in zip(("right", "left"), aims):
        write_aims(pathlib.Path(__file__).with_name(f"{sight.scenario}_{name}_aims.csv"), rows)
    return right, left


def dropping():
    """The right hand picks the needle up and opens before it has gone anywhere."""
    right = Path()
    place, along = lying(RIGHT_AT)
    flat = jaws((0.0, 0.0, 1.0), along, LEAN)
    right.to(0.0, add(place, (0, 0, 6)), flat, OPEN)
    right.to(0.6, place, flat, OPEN)
    right.stay(0.7)
    right.stay(0.9, SHUT)
    right.stay(1.0)
    right.to(1.6, add(place, (0, 0, 6)), flat, SHUT)
    right.stay(1.8)
    right.stay(1.9, WIDE)
    right.stay(PULLED)
    return right


def tearing():
    """The left hand has the needle, the right one takes the tail; then both pull."""
    swage = (5.8396, 0.0, 13.627)  # of torn.toml
    needle = add(swage, (-1.631, 0.0, 0.954))
    left, right = Path(), Path()
    grip, along = on_circle(96.0 - 12.0 + 152.0)
    held = jaws(UPRIGHT, along, -LEAN)
    left.to(0.0, needle, held, OPEN)
    left.to(0.05, needle, held, SHUT)
    left.to(1.6, needle, held, SHUT)
    left.to(2.4, add(needle, (0.6, 0.0, 1.6)), held, SHUT)
    left.stay(2.6)
    # Faces on either side of the tail, from the operator's side.
    away, back = (0.0, 1.0, 0.0), (0.8, 0.0, -0.6)
    q = quaternion(away, cross(back, away), back)
    right.to(0.0, add(TAIL, (0.0, -6.0, 0.0)), q, WIDE)
    right.to(0.6, add(TAIL, (0.0, 0.5, 0.0)), q, WIDE)
    right.stay(0.7)
    right.stay(1.0, SHUT)
    right.stay(1.1)
    right.to(1.6, add(TAIL, (-0.5, 0.0, 0.5)), q, SHUT)
    right.to(2.4, add(TAIL, (-1.2, 0.0, 1.2)), q, SHUT)
    right.stay(2.6)
    return right, left


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="writes the paths of the scripted trainee")
    options.add_argument("--look", metavar="LIGATURE", help="look for the short end anew, by this program")
    program = options.parse_args().look
    reef = Sight("reef", program)
    hands = right_and_left(reef)
    granny = Sight("granny", program)
    paths = (*hands, *right_and_left(granny, granny=True), dropping(), *tearing())
    for name, path in zip(("right", "left", "granny_right", "granny_left", "drop_right", "torn_right", "torn_left"), paths):
        path.write(pathlib.Path(__file__).with_name(f"{name}_path.csv"))
    lines = (f' "{s.scenario}": [\n  ' + ",\n  ".join(map(json.dumps, s.seen)) + "]" for s in (reef, granny))
    SEEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
