#!/usr/bin/env python3
"""Writes right_path.csv and left_path.csv: the scripted trainee of the anastomosis.

The right hand picks the needle up near its swage, stands it upright and drives it along its own circle: through the wall
of the one vessel from outside, through both open ends, and through the wall of the other from inside. The left hand
takes the point, draws the needle out along the circle and the thread after it.

Poses of T in W over time (CONTRACT): t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg.
"""
import math
import pathlib

DEG = math.pi / 180

# The needle: where its swage lies on the bench, and its arc.
SWAGE = (0.0, -6.0, 0.036)
ARC_MM, ARC_DEG = 3.0, 180.0
RADIUS = ARC_MM / (ARC_DEG * DEG)
AXIS, TOP = 2.0, 2.5  # of the vessels
END = 14.0
CUT = 55.0  # at these angles from the lowest place its circle cuts the top of the vessels [deg]
CENTRE = (0.0, 0.0, TOP + RADIUS * math.cos(CUT * DEG))

RIGHT_AT = 15.0  # from the swage [deg of arc]
OPEN, SHUT = 0.2, 0.0
BESIDE = 0.43  # the faces 0.9 mm apart [deg]
WIDE = 0.5


def add(a, b, k=1.0):
    return tuple(x + k * y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def quaternion(x, y, z):
    """Of the rotation whose columns are these axes."""
    m = [[x[i], y[i], z[i]] for i in range(3)]
    trace = m[0][0] + m[1][1] + m[2][2]
    if trace > 0:
        w = math.sqrt(1 + trace) / 2
        return ((m[2][1] - m[1][2]) / (4 * w), (m[0][2] - m[2][0]) / (4 * w), (m[1][0] - m[0][1]) / (4 * w), w)
    i = max(range(3), key=lambda k: m[k][k])
    j, k = (i + 1) % 3, (i + 2) % 3
    a = math.sqrt(1 + m[i][i] - m[j][j] - m[k][k]) / 2
    q = [0.0] * 3
    q[i], q[j], q[k] = a, (m[i][j] + m[j][i]) / (4 * a), (m[i][k] + m[k][i]) / (4 * a)
    return (*q, (m[k][j] - m[j][k]) / (4 * a))


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


UPRIGHT = (0.0, -1.0, 0.0)
LEAN = 0.6


def lying(arc):
    """Place and direction of the needle as it lies, so far from its swage [deg]."""
    a = arc * DEG
    place = add(SWAGE, (-math.sin(a), math.cos(a) - 1, 0.0), RADIUS)
    return place, (-math.cos(a), -math.sin(a), 0.0)


class Path:
    def __init__(self):
        self.rows = []

    def to(self, t, place, q, opening):
        assert not self.rows or t > self.rows[-1][0]
        self.rows.append((t, place, q, opening))

    def stay(self, t, opening=None):
        _, place, q, before = self.rows[-1]
        self.to(t, place, q, before if opening is None else opening)

    def write(self, name):
        with open(pathlib.Path(__file__).with_name(name), "w") as out:
            out.write("t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n")
            for t, p, q, opening in self.rows:
                out.write(",".join(f"{v:.7g}" for v in (t, *p, *q, opening)) + "\n")


def drive(path, begin, end, first, last, at, lean):
    """Along the circle: the place `at` that the jaws hold goes from angle `first` to `last`."""
    count = max(2, round((end - begin) / 0.05))
    for k in range(1, count + 1):
        u = k / count
        u = u * u * (3 - 2 * u)
        angle = first + u * (last - first)
        place, along = on_circle(angle + at)
        path.to(begin + (end - begin) * k / count, place, jaws(UPRIGHT, along, lean), SHUT)


def right_and_left():
    right, left = Path(), Path()
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
    right.stay(END)

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
    left.to(6.5, add(grip, (2.0, 6.0, 4.0)), q, OPEN)
    left.to(7.1, grip, q, OPEN)
    left.stay(7.2)
    left.stay(7.5, SHUT)
    left.stay(8.0)
    drive(left, 8.0, 10.0, through, through + 152.0, left_at, -LEAN)
    _, out, q, _ = left.rows[-1]
    left.to(13.0, add(out, (5.0, 0.0, 11.0)), q, SHUT)
    left.stay(END)
    return right, left


if __name__ == "__main__":
    right, left = right_and_left()
    right.write("right_path.csv")
    left.write("left_path.csv")
