"""Helpers of the scripts that write the paths of forceps (make_paths.py): poses of T in W over time (CONTRACT)."""
import math

DEG = math.pi / 180


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


def pointing(q):
    """Where the jaws of this orientation point: their x."""
    x, y, z, w = q
    return (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w))


def unit(a):
    return tuple(x / math.sqrt(sum(c * c for c in a)) for x in a)


def between(a, b, u):
    return tuple(x + u * (y - x) for x, y in zip(a, b))


def turned(p, q, u):
    """The orientation so far on the shorter way from one to another (spherical linear interpolation)."""
    c = sum(a * b for a, b in zip(p, q))
    q, c = (q, c) if c >= 0 else (tuple(-b for b in q), -c)
    angle = math.acos(min(c, 1.0))
    if angle < 1e-6:
        return q
    return add(tuple(math.sin((1 - u) * angle) / math.sin(angle) * a for a in p), q, math.sin(u * angle) / math.sin(angle))


def eased(u):
    return u * u * (3 - 2 * u)


def rolled(v, angle):
    """A vector turned in the plane of x and z, from x towards z [deg]."""
    c, s = math.cos(angle * DEG), math.sin(angle * DEG)
    return (c * v[0] - s * v[2], v[1], s * v[0] + c * v[2])


def rolled_quaternion(q, angle):
    """Likewise an orientation."""
    s, w = -math.sin(angle * DEG / 2), math.cos(angle * DEG / 2)
    x, y, z, a = q
    return (w * x + s * z, w * y + s * a, w * z - s * x, w * a - s * y)


class Path:
    """Of one pair of forceps; the rows between which the scenario goes in a straight line."""

    def __init__(self):
        self.rows = []

    def to(self, t, place, q, opening):
        assert not self.rows or t > self.rows[-1][0], (t, self.rows[-1])
        self.rows.append((t, place, q, opening))

    def stay(self, t, opening=None):
        _, place, q, before = self.rows[-1]
        self.to(t, place, q, before if opening is None else opening)

    def write(self, file, digits=7):
        with open(file, "w") as out:
            out.write("t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n")
            for t, p, q, opening in self.rows:
                out.write(",".join(f"{v:.{digits}g}" for v in (t, *p, *q, opening)) + "\n")


def write_aims(file, rows):
    """What one pair of forceps looks at on its path (drivers/virtual_rig/hand_eye.hpp)."""
    with open(file, "w") as out:
        out.write("t_s,over_s,thread,end,arc_mm,x_mm,y_mm,z_mm,follow_x,follow_y,follow_z\n")
        for row in rows:
            out.write(",".join(v if isinstance(v, str) else f"{v:.7g}" for v in row) + "\n")
