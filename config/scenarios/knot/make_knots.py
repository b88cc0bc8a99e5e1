#!/usr/bin/env python3
"""Draws the starting curves of the knot scenarios: loose, smooth, clear of themselves; and proves which knots they are.

    make_knots.py                  writes points/*.csv (x,y,z in mm, as `points_file` reads them)
    make_knots.py --check          writes nothing; exit 1 unless every committed file is what would be written
    make_knots.py --pictures DIR   also draws every curve, seen along -z, as DIR/NAME.png

Python's standard library alone; the same files on every run.

Curves are built in diameters d and then scaled. A *throw* is a stretch along x in which two strands wind round each
other by k half turns: k = 3 is a single throw, 5 a double one. A enters at the bottom on one side and leaves at the
top of the other; B mirrors it. Throws are stacked along y and joined by half circles:

        A tail <--\\   /--> B tail        throw 2, hand s2
                 XXXXX
              B (     ) A                 hand s2 = -s1: reef, = s1: granny
                 XXXXX
     A load >----/   \\----< B load       throw 1, hand s1

Loaded at both lower ends and loose at both upper ones that is a reef or granny: the tails lie on one side. The same
curve with B run from its upper end is thief or grief: the tails lie on opposite sides. Every file of a two-thread tie
runs from its loaded end to its tail.

What is proven, by other means than the drawing: distance between strands more than 1.3 d wherever they are more than
pi d / 2 of arc apart, radius of curvature above 0.8 d, and the Jones polynomial of the closed curve by Kauffman's
state sum over the crossings found in a skew projection, against products of tabulated polynomials.
"""
import argparse
import math
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
STEP = 0.25  # between drawn points where a curve bends [d]


# ---------------------------------------------------------------- vectors and polylines

def add(a, b, f=1.0):
    return (a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2])


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a):
    return math.sqrt(dot(a, a))


def length(curve):
    return sum(norm(sub(b, a)) for a, b in zip(curve, curve[1:]))


def scaled(curve, f):
    return [(f * x, f * y, f * z) for x, y, z in curve]


def joined(*parts):
    """Polylines one after another; a point that repeats the one before is dropped."""
    out = []
    for part in parts:
        for p in part:
            if not out or norm(sub(p, out[-1])) > 1e-6:
                out.append(p)
    return out


def sampled(f, a, b, step=STEP):
    """f over [a, b] at equal arc lengths of about `step`."""
    fine = [f(a + (b - a) * i / 4000) for i in range(4001)]
    return resampled(fine, step)


def resampled(curve, step):
    total = length(curve)
    n = max(2, round(total / step))
    out, done, i = [curve[0]], 0.0, 0
    for k in range(1, n):
        want = total * k / n
        while done + norm(sub(curve[i + 1], curve[i])) < want:
            done += norm(sub(curve[i + 1], curve[i]))
            i += 1
        piece = sub(curve[i + 1], curve[i])
        out.append(add(curve[i], piece, (want - done) / norm(piece)))
    return out + [curve[-1]]


def spline(points, closed=False):
    """The smooth curve through these points: natural (or periodic) cubic over their chord lengths."""
    n = len(points)
    if closed:
        wrap = 6
        ring = [points[i % n] for i in range(-wrap, n + wrap + 1)]
        fine, knots = _natural(ring)
        return resampled([p for p, t in fine if knots[wrap] <= t <= knots[wrap + n]], STEP)[:-1]
    fine, _ = _natural(points)
    return resampled([p for p, _ in fine], STEP)


def _natural(points):
    n = len(points)
    t = [0.0]
    for a, b in zip(points, points[1:]):
        t.append(t[-1] + norm(sub(b, a)) ** 0.5)  # centripetal: no overshoot
    second = []
    for c in range(3):
        y = [p[c] for p in points]
        m, u = [0.0] * n, [0.0] * n
        for i in range(1, n - 1):  # tridiagonal, Thomas
            s = (t[i] - t[i - 1]) / (t[i + 1] - t[i - 1])
            p = s * m[i - 1] + 2
            m[i] = (s - 1) / p
            d = (y[i + 1] - y[i]) / (t[i + 1] - t[i]) - (y[i] - y[i - 1]) / (t[i] - t[i - 1])
            u[i] = (6 * d / (t[i + 1] - t[i - 1]) - s * u[i - 1]) / p
        k = [0.0] * n
        for i in range(n - 2, -1, -1):
            k[i] = m[i] * k[i + 1] + u[i]
        second.append(k)
    fine = []
    for i in range(n - 1):
        h = t[i + 1] - t[i]
        for j in range(100 if i < n - 2 else 101):
            b = j / 100
            a = 1 - b
            fine.append((tuple(
                a * points[i][c] + b * points[i + 1][c]
                + ((a ** 3 - a) * second[c][i] + (b ** 3 - b) * second[c][i + 1]) * h * h / 6
                for c in range(3)), t[i] + b * h))
    return fine, t


def trimmed(curve, total, start=None):
    """With straight ends along the end tangents so that the whole is `total` long, `start` of it before the curve."""
    spare = total - length(curve)
    if spare < 0:
        raise SystemExit(f"a curve of {length(curve):.1f} does not fit into {total:.1f}")
    start = spare / 2 if start is None else start
    first, last = sub(curve[0], curve[1]), sub(curve[-1], curve[-2])
    return joined([add(curve[0], first, start / norm(first))], curve,
                  [add(curve[-1], last, (spare - start) / norm(last))])


# ---------------------------------------------------------------- throws and ties

def smooth(u):
    """0 to 1 over [-1, 1] with no slope at the ends."""
    s = min(max((u + 1) / 2, 0.0), 1.0)
    return s * s * (3 - 2 * s)


def half_circle(start, end, side):
    """Half circle in a plane of constant z from start to end, bulging to `side` (+-1 along x)."""
    radius, mid = (end[1] - start[1]) / 2, (end[1] + start[1]) / 2
    return sampled(lambda a: (start[0] + side * abs(radius) * math.cos(a), mid + radius * math.sin(a), start[2]),
                   -math.pi / 2, math.pi / 2)


def throw_strands(k, hand, y, from_left, r=0.9, half_width=None):
    """A and B of one throw, each in its own direction of travel; A enters from the left or from the right."""
    w = half_width or 2.0 * k

    def angle(u):  # of A round the axis of the throw; right-handed where it grows with x
        return math.pi + hand * k * math.pi * (smooth(u) if from_left else smooth(u) - 1)

    def strand(shift):
        return lambda u: (w * u, y + r * math.cos(angle(u) + shift), r * math.sin(angle(u) + shift))
    side = -1 if from_left else 1
    return sampled(strand(0), side, -side), sampled(strand(math.pi), -side, side)


def tie(throws, gap=5.0):
    """Strands A, B of a tie, from the loaded ends to the tails. throws: (half turns, hand), from the first one up."""
    a_parts, b_parts, y = [], [], 0.0
    width = max(2.0 * k for k, _ in throws)
    for i, (k, hand) in enumerate(throws):
        a, b = throw_strands(k, hand, y, i % 2 == 0)
        side = 1 if i % 2 == 0 else -1  # where A leaves
        if i > 0:
            for parts, strand, s in ((a_parts, a, -side), (b_parts, b, side)):
                x = s * width
                top = parts[-1][-1]
                lead_out, lead_in = (x, top[1], 0.0), (x, strand[0][1], 0.0)
                parts += [[lead_out], half_circle(lead_out, lead_in, s)]
        a_parts.append(a)
        b_parts.append(b)
        y += gap + 1.8
    return joined(*a_parts), joined(*b_parts)


def half_hitches(hands, radius=1.5, wraps=1):
    """A straight post along y and a thread that is thrown round it in half hitches, one above the other, from the loaded
    ends to the tails. Each passes before the post (behind it for hand -1), comes back round it below and crosses over
    itself on its way up. Hands alike: what a granny capsizes to, S=S; opposite: a reef, SxS."""
    r, pitch = radius, 5.8 + 3.9 * (wraps - 1)
    points = [(-r - 21.0, -12.0, 0.0), (-r - 13.0, -6.0, 0.0), (-r - 7.8, -1.6, 0.0)]
    for i, hand in enumerate(hands):
        hitch = [(-r - 4.5, 0.0, 0.0), (-r - 0.8, 0.2, 0.35 * r), (0.0, 0.2, r), (0.75 * r, 0.0, 0.7 * r)]
        low = 0.0
        for turn in range(wraps):
            hitch += [(r, low - 0.5, 0.0), (0.75 * r, low - 1.0, -0.7 * r), (0.0, low - 1.5, -r)]
            if turn + 1 < wraps:
                hitch += [(-0.75 * r, low - 2.0, -0.7 * r), (-r, low - 2.4, 0.0), (-0.75 * r, low - 2.9, 0.7 * r),
                          (0.0, low - 3.4, r), (0.75 * r, low - 3.9, 0.7 * r)]
                low -= 3.9
        low -= 1.5
        hitch += [(-0.75 * r, low - 0.4, -0.75 * r), (-r - 1.1, low - 0.3, -0.3), (-r - 2.4, 0.5 * low, 1.3),
                  (-r - 2.8, 0.3, 2.1), (-r - 3.4, 2.1, 1.2), (-r - 5.2, 3.4, 0.3)]
        points += [(x, pitch * i + y, hand * z) for x, y, z in hitch]
    x, y, _ = points[-1]
    points += [(x - 2.6, y + 2.6, 0.0), (x - 3.9, y + 8.0, 0.0), (x - 3.9, y + 16.0, 0.0)]
    return [(0.0, -16.0, 0.0), (0.0, pitch * len(hands) + 14.0, 0.0)], spline(points)


def overhand(k, hand=1, radius=3.0):
    """One thread: a throw of k half turns with itself, closed by a loop above."""
    a, b = throw_strands(k, hand, 0.0, True)
    w, top = a[-1][0], a[-1][1]
    out, back = (w, top, 0.0), (w, top + 2 * radius, 0.0)
    left = (-w, top + 2 * radius, 0.0)
    return joined(a, half_circle(out, back, 1), [left], half_circle(left, (-w, top, 0.0), -1), b[::-1])


def loose_overhand(k, big, hand=1):
    """One thread round a circle of radius `big` >> d, its two ends wound round each other by k half turns where the
    circle closes, and tangent to it: near the shape that it takes at rest [Audoly 2007]."""
    w = min(1.6 * k * math.sqrt(big / 2), 0.5 * big)  # half length of the wound part
    reach = min(2.5 * w, 0.7 * big)

    def strand(sign):
        def at(x):
            height = big - math.sqrt(big * big - x * x)  # of the circle over its tangent
            apart = math.sqrt(0.7 ** 2 + (height / 2) ** 2)
            phi = -math.pi / 2 + hand * k * math.pi * smooth(x / w)
            return (x, height / 2 + sign * apart * math.sin(phi), -sign * apart * math.cos(phi))
        return at
    angle = math.asin(reach / big)
    circle = sampled(lambda t: (big * math.sin(t), big - big * math.cos(t), 0.0), angle, 2 * math.pi - angle, big / 60)
    step = min(1.0, w / 40)
    return joined(sampled(strand(1), -reach, reach, step), circle[1:-1], sampled(strand(-1), -reach, reach, step))


def locked(throws, radius=4.0):
    """A tie in one thread, round what its loop at the bottom holds: tail, loop, tail."""
    a, b = tie(throws)
    left, right = a[0], b[0]
    low = left[1] - 2 * radius
    return joined(a[::-1], half_circle((left[0], low, 0.0), left, -1)[::-1], [(right[0], low, 0.0)],
                  half_circle((right[0], low, 0.0), right, 1), b)


def open_figure_eight():
    """The ring cut where it is outermost, its ends led past each other one above the other."""
    def at(t):
        lift = max(0.0, 1 - t / 0.5) ** 2 - max(0.0, 1 - (2 * math.pi - t) / 0.5) ** 2
        return (1.4 * (2 + math.cos(2 * t)) * math.cos(3 * t), 1.4 * (2 + math.cos(2 * t)) * math.sin(3 * t),
                1.5 * math.sin(4 * t) - 0.9 * lift)
    return sampled(at, 0, 2 * math.pi)


def twisted_pair(k, splay_deg, hand=1, r=0.75, legs=20.0):
    """Two threads along x wound round each other by k half turns: a helix at `splay` to the axis, left along its
    tangents, which cross at twice that. The first one comes from below on the left."""
    slope = math.tan(math.radians(splay_deg))
    w = (k - 1) * math.pi * r / (2 * slope)

    def strand(sign):
        def at(x):
            beyond = max(0.0, abs(x) - w) * slope
            turned = min(abs(x), w) * slope / r + math.atan(beyond / r)
            phi = (k - 1) * math.pi / 2 + hand * math.copysign(turned, x)
            apart = math.hypot(r, beyond)
            return (x, sign * apart * math.sin(phi), -sign * apart * math.cos(phi))
        return at
    return [sampled(strand(s), -w - legs, w + legs) for s in (1, -1)]


def twisted_threads(count, turns, pitch, r):
    """Threads along x wound round their common axis."""
    w = turns * pitch / 2

    def strand(i):
        def at(x):
            phi = 2 * math.pi * (i / count + turns * smooth(x / w))
            return (x, r * math.cos(phi), r * math.sin(phi))
        return at
    return [sampled(strand(i), -w, w) for i in range(count)]


def braid(turns, pitch=14.0, a=2.4, b=1.0):
    """Three strands along x, each in turn laid over the middle: y = a sin, z = b sin of the double angle."""
    def strand(i):
        def at(x):
            phi = 2 * math.pi * (x / pitch + i / 3)
            return (x, a * math.sin(phi), b * math.sin(2 * phi))
        return at
    return [sampled(strand(i), 0, turns * pitch) for i in range(3)]


def wound(turns, core, pitch=1.5, gap=0.05):
    """A thread wound round a cylinder along y of this diameter, leaving along its tangents."""
    rho = core / 2 + 0.5 + gap
    return sampled(lambda t: (rho * math.cos(t), pitch * t / (2 * math.pi), rho * math.sin(t)), 0, 2 * math.pi * turns)


def slack(span, height):
    """From end to end along x, both tangents along it, with an arch on which nothing is symmetric."""
    def at(x):
        u = 2 * math.pi * x / span
        return (x, height * (1 - math.cos(u)) / 2, 0.05 * height * (math.sin(u) - 0.5 * math.sin(2 * u)))
    return sampled(at, 0, span)


def clove(core, gap=0.4, across=1.9):
    """A clove hitch round a cylinder along x: two turns the same way and a diagonal over both, at the front (-y).
    Comes from below (-z) and leaves above. By angle t round the axis, from the front upwards."""
    rho = core / 2 + 0.5 + gap

    clear = (rho + 1.5) / math.sin(math.pi / 4) - rho  # so that the diagonal passes in front of both ends

    # (t in half turns from the bottom, x, lift over the cylinder)
    table = [(0.5, 0.36, 0.0), (0.75, 0.7, 0.0), (1.0, 1.0, 0.0), (1.25, 1.12, 0.0), (1.5, 1.2, 0.0),
             (1.75, 1.25, 0.15 * clear), (2.0, 1.4, 0.5 * clear),
             (2.25, 1.05, clear), (2.5, 0.0, clear), (2.75, -1.05, clear), (3.0, -1.4, 0.5 * clear),
             (3.25, -1.25, 0.15 * clear), (3.5, -1.2, 0.0), (3.75, -1.12, 0.0), (4.0, -1.0, 0.0), (4.25, -0.7, 0.0), (4.5, -0.36, 0.0)]
    points = []
    for half, x, lift in table:
        t = math.pi * half
        points.append((across * x, -(rho + lift) * math.sin(t), -(rho + lift) * math.cos(t)))
    first, last = points[0], points[-1]
    return [add(first, (0.0, 0.0, -2.0 * n)) for n in (3, 2, 1)] + points + [
        add(last, (0.0, 0.0, 2.0 * n)) for n in (1, 2, 3)]


def two_half_hitches(core, turns, gap=0.4):
    """Up in front of a cylinder along x, over it (and `turns` more times round it), down behind, and two half hitches,
    which are a clove hitch, round its own standing part. First the loaded end, from below."""
    rho = core / 2 + 0.5 + gap
    angle = math.pi * (1 + 2 * turns)
    points = [(0.0, -rho, -3.0 * n) for n in range(9, 0, -1)]
    steps = round(8 * angle / math.pi)
    for i in range(steps + 1):
        t = angle * i / steps
        points.append((-1.8 * t / math.pi, -rho * math.cos(t), rho * math.sin(t)))
    x = points[-1][0]
    points += [(x, rho, -2.0), (x, rho, -4.5), (x, rho - 1.2, -8.0), (x + 0.2, rho - 4.0, -10.5)]
    hitch = [(y, -rho - z, -12.0 + a) for a, y, z in clove(1.0, gap=0.8, across=2.2)]
    return spline(points + hitch[1:])


def muenter(core, gap=0.4):
    """A Muenter hitch round a cylinder along x: over it from the front (-y), back below it, across in front of the
    loaded part and round that, back below it and over it to the front. Both ends hang down in front. By angle round the
    axis, from the front upwards."""
    rho = core / 2 + 0.5 + gap
    # (angle in half turns, x, lift over the cylinder)
    half = [(1.0, 2.1, 0.0), (1.25, 2.6, 0.0), (1.5, 2.9, 0.0), (1.65, 2.7, 0.5), (1.76, 2.1, 1.5), (1.82, 1.1, 2.3)]
    table = ([(0.0, 0.0, 0.0), (0.25, -0.2, 0.0), (0.5, -0.7, 0.0), (0.75, -1.4, 0.0)]
             + [(a, -x, lift) for a, x, lift in half] + [(1.84, 0.0, 2.6)] + half[::-1]
             + [(0.75, 2.3, 0.0), (0.5, 2.9, 0.0), (0.25, 3.5, 0.0), (0.0, 3.9, 0.0)])
    points = [(x, -(rho + lift) * math.cos(math.pi * a), (rho + lift) * math.sin(math.pi * a)) for a, x, lift in table]
    first, last = points[0], points[-1]
    return spline([add(first, (0.0, 0.0, -3.0 * n)) for n in range(9, 0, -1)] + points
                  + [add(last, (0.0, 0.0, -3.0 * n)) for n in range(1, 10)])


def torus_trefoil():
    return spline([((2 + math.cos(3 * t)) * math.cos(2 * t), (2 + math.cos(3 * t)) * math.sin(2 * t),
                    math.sin(3 * t)) for t in (2 * math.pi * i / 48 for i in range(48))], closed=True)


def ring_figure_eight():
    return spline([(1.4 * (2 + math.cos(2 * t)) * math.cos(3 * t),
                    1.4 * (2 + math.cos(2 * t)) * math.sin(3 * t), 1.5 * math.sin(4 * t)) for t in (2 * math.pi * i / 64 for i in range(64))], closed=True)


def torus(major, minor, around=64, across=24):
    """A ring of this mesh, tube along x at the origin, its centre above: vertices and triangles, outside to the front."""
    points = []
    for i in range(around):
        a = 2 * math.pi * i / around
        for j in range(across):
            b = 2 * math.pi * j / across
            r = major + minor * math.cos(b)
            points.append((r * math.sin(a), minor * math.sin(b), major - r * math.cos(a)))
    triangles = []
    for i in range(around):
        for j in range(across):
            p, q = i * across + j, i * across + (j + 1) % across
            r, t = (i + 1) % around * across + j, (i + 1) % around * across + (j + 1) % across
            triangles += [(p, t, r), (p, q, t)]
    return points, triangles


# ---------------------------------------------------------------- proofs

def segment_distance(p0, p1, q0, q1):
    """[Ericson 2005] 5.1.9."""
    d1, d2, r = sub(p1, p0), sub(q1, q0), sub(p0, q0)
    a, e, f, c, b = dot(d1, d1), dot(d2, d2), dot(d2, r), dot(d1, r), dot(d1, d2)
    det = a * e - b * b
    s = min(max((b * f - c * e) / det, 0.0), 1.0) if det > 1e-12 * a * e else 0.0
    t = (b * s + f) / e
    if t < 0 or t > 1:
        t = min(max(t, 0.0), 1.0)
        s = min(max((b * t - c) / a, 0.0), 1.0)
    return norm(sub(add(p0, d1, s), add(q0, d2, t)))


def clearance(curves, closed, reach=4.0):
    """Smallest distance between strands [d], without neighbours less than pi d / 2 of arc apart."""
    edges = []
    for i, curve in enumerate(curves):
        s, total = 0.0, length(curve) + (norm(sub(curve[0], curve[-1])) if closed else 0)
        for a, b in zip(curve, curve[1:] + ([curve[0]] if closed else [])):
            n = max(1, math.ceil(norm(sub(b, a)) / 2.0))
            for k in range(n):
                p, q = add(a, sub(b, a), k / n), add(a, sub(b, a), (k + 1) / n)
                if p == q:
                    continue
                edges.append((i, s, total, p, q))
                s += norm(sub(q, p))
    cells = {}
    for n, (_, _, _, p, q) in enumerate(edges):
        m = add(p, q)
        cells.setdefault(tuple(int(math.floor(c / 2 / reach)) for c in m), []).append(n)
    best = reach
    for (cx, cy, cz), mine in cells.items():
        near = [n for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)
                for n in cells.get((cx + x, cy + y, cz + z), ())]
        for n in mine:
            i, s, total, p, q = edges[n]
            for o in near:
                if o <= n:
                    continue
                j, s2, _, p2, q2 = edges[o]
                if i == j:
                    arc = s2 - s - norm(sub(q, p))
                    if closed:
                        arc = min(arc, total - (s2 - s) - norm(sub(q2, p2)))
                    if arc < math.pi / 2:
                        continue
                best = min(best, segment_distance(p, q, p2, q2))
    return best


def tightest_bend(curve, closed):
    """Smallest radius of the circle through three points in a row [d]; corners count as what they are."""
    ring = curve + curve[:2] if closed else curve
    best = math.inf
    for a, b, c in zip(ring, ring[1:], ring[2:]):
        area2 = norm(cross(sub(b, a), sub(c, a)))
        if area2 > 1e-12:
            best = min(best, norm(sub(b, a)) * norm(sub(c, b)) * norm(sub(c, a)) / (2 * area2))
    return best


def crossings_of(loops, view):
    """Signed planar crossings of closed polylines seen along `view`: per loop, in order, (id, over, sign)."""
    axis = tuple(c / norm(view) for c in view)
    u = cross(axis, (0.36, 0.48, 0.8))
    u = tuple(c / norm(u) for c in u)
    v = cross(axis, u)
    flat = [[(dot(p, u), dot(p, v), dot(p, axis)) for p in loop] for loop in loops]
    edges = [(i, k, loop[k], loop[(k + 1) % len(loop)]) for i, loop in enumerate(flat) for k in range(len(loop))]
    edges.sort(key=lambda e: min(e[2][0], e[3][0]))
    found, active = [], []
    for e in edges:
        left = min(e[2][0], e[3][0])
        active = [a for a in active if max(a[2][0], a[3][0]) >= left]
        for a in active:
            if a[0] == e[0]:
                n = len(flat[a[0]])
                if (a[1] - e[1]) % n in (0, 1, n - 1):
                    continue
            p, q, r, s = a[2], a[3], e[2], e[3]
            d1, d2 = (q[0] - p[0], q[1] - p[1]), (s[0] - r[0], s[1] - r[1])
            det = d1[0] * d2[1] - d1[1] * d2[0]
            if det == 0:
                continue
            w = (r[0] - p[0], r[1] - p[1])
            t, t2 = (w[0] * d2[1] - w[1] * d2[0]) / det, (w[0] * d1[1] - w[1] * d1[0]) / det
            if not (0 <= t < 1 and 0 <= t2 < 1):
                continue
            over = p[2] + t * (q[2] - p[2]) > r[2] + t2 * (s[2] - r[2])
            # positive crossing: the over strand turned left by less than pi gives the under one
            sign = 1 if (det > 0) == over else -1
            found.append(((a[0], a[1] + t, over), (e[0], e[1] + t2, not over), sign))
        active.append(e)
    codes = [[] for _ in loops]
    for n, (one, two, sign) in enumerate(found):
        for i, where, over in (one, two):
            codes[i].append((where, n, over, sign))
    return [[(n, over, sign) for _, n, over, sign in sorted(code)] for code in codes]


def simplified(codes):
    """Without kinks (first Reidemeister move) and bigons of one strand over another (second), to shorten the sum."""
    changed = True
    while changed:
        changed = False
        for code in codes:  # R1: the same crossing twice in a row
            for k in range(len(code)):
                if len(code) > 1 and code[k][0] == code[(k + 1) % len(code)][0]:
                    gone = {code[k][0]}
                    codes = [[c for c in other if c[0] not in gone] for other in codes]
                    changed = True
                    break
            if changed:
                break
        if changed:
            continue
        pairs = {}
        for i, code in enumerate(codes):  # R2: two crossings in a row, over both here, under both there
            for k in range(len(code)):
                a, b = code[k], code[(k + 1) % len(code)]
                if a[0] != b[0] and a[1] == b[1] and a[2] == -b[2]:
                    key = frozenset((a[0], b[0]))
                    if key in pairs and pairs[key] != a[1]:
                        codes = [[c for c in other if c[0] not in key] for other in codes]
                        changed = True
                        break
                    pairs[key] = a[1]
            if changed:
                break
    return codes


def times(p, q):
    out = {}
    for a, x in p.items():
        for b, y in q.items():
            out[a + b] = out.get(a + b, 0) + x * y
    return {k: v for k, v in out.items() if v}


def jones(codes):
    """Jones polynomial by Kauffman's state sum, {exponent of A: coefficient}, t = A^-4."""
    ids = sorted({n for code in codes for n, _, _ in code})
    ends = {n: {} for n in ids}  # crossing -> arc names: under in/out, over in/out
    signs, arc = {}, 0
    free = sum(1 for code in codes if not code)
    for code in codes:
        first = arc
        for k, (n, over, sign) in enumerate(code):
            ends[n]["o" if over else "u", "in"] = arc
            arc = arc + 1 if k + 1 < len(code) else first
            ends[n]["o" if over else "u", "out"] = arc
            signs[n] = sign
        arc = first + len(code)
    if len(ids) > 16:
        raise SystemExit(f"{len(ids)} crossings are too many for the state sum")
    pd = []
    for n in ids:  # a b c d anticlockwise from the incoming under strand
        e = ends[n]
        ins, out = e["o", "in"], e["o", "out"]
        pd.append((e["u", "in"], out, e["u", "out"], ins) if signs[n] > 0 else (e["u", "in"], ins, e["u", "out"], out))
    loop = {2: -1, -2: -1}
    powers = [{0: 1}]
    for _ in range(len(ids) + free + 3):
        powers.append(times(powers[-1], loop))
    bracket = {}
    for state in range(1 << len(pd)):
        parent = list(range(arc))

        def root(i):
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i
        weight = 0
        for bit, (a, b, c, d) in enumerate(pd):
            if state >> bit & 1:
                weight -= 1
                joins = ((a, d), (b, c))
            else:
                weight += 1
                joins = ((a, b), (c, d))
            for i, j in joins:
                parent[root(i)] = root(j)
        rings = len({root(i) for i in range(arc)}) + free
        for e, c in powers[rings - 1].items():
            bracket[e + weight] = bracket.get(e + weight, 0) + c
    writhe = sum(signs.values())
    factor = {-3 * writhe: -1 if writhe % 2 else 1}
    return times(bracket, factor)


def poly(text):
    """'t^-1 + ...' given as {exponent of t: coefficient} -> in A."""
    return {-4 * k: v for k, v in text.items()}


# [Jones 1985], right-handed trefoil in t = its positive powers
TREFOIL = poly({1: 1, 3: 1, 4: -1})
FIGURE_EIGHT = poly({-2: 1, -1: -1, 0: 1, 1: -1, 2: 1})
CINQUEFOIL = poly({2: 1, 4: 1, 5: -1, 6: 1, 7: -1})


def mirror(p):
    return {-k: v for k, v in p.items()}


def determinant(p):
    """|V(-1)|: A = exp(i pi / 4) to the power of -1, t = -1."""
    return abs(sum(v * (-1) ** (k // 4) for k, v in p.items()))


def jones_of(loops):
    best = None
    for view in ((0.31, 0.23, 1.0), (0.11, -0.17, 1.0), (1.0, 0.37, 0.21), (-0.29, 1.0, 0.13)):
        codes = simplified(crossings_of(loops, view))
        count = sum(len(c) for c in codes) // 2
        if best is None or count < best[0]:
            best = (count, codes)
    return jones(best[1]), best[0]


def closed_far(curve):
    """An open curve whose ends lie outside of its hull, closed by a wide arc below."""
    a, b = curve[0], curve[-1]
    far = 3 * max(norm(p) for p in curve) + 10
    return curve + [add(b, (b[0], -far, 0.0)), add(a, (a[0], -far, 0.0))]


def closed_side(curve):
    """An open curve with its ends on the side +x of its hull, closed there."""
    a, b = curve[0], curve[-1]
    far = 3 * max(norm(p) for p in curve) + 10
    return curve + [add(b, sub(b, curve[-2]), 200.0), (far + 200.0, far, b[2]), (far + 200.0, -far, a[2]),
                    add(a, sub(a, curve[1]), 200.0)]


def closed_pair(a, b):
    """Two strands of a tie as one loop: loads joined far below, tails far above."""
    far = 3 * max(norm(p) for p in a + b) + 10
    low, high = min(a[0][1], b[0][1]) - far, max(a[-1][1], b[-1][1]) + far
    return a + [(a[-1][0], high, 0.0), (b[-1][0], high, 0.0)] + b[::-1] + [(b[0][0], low, 0.0), (a[0][0], low, 0.0)]


# ---------------------------------------------------------------- pictures

COLOURS = ((222, 140, 40), (60, 130, 200), (90, 170, 90))


def picture(path, curves, closed, diameter, size=900, view="z"):
    turn = {"z": lambda p: p, "x": lambda p: (p[1], p[2], p[0]), "y": lambda p: (p[0], p[2], -p[1])}[view]
    curves = [[turn(p) for p in c + (c[:1] if closed else [])] for c in curves]
    bends = [p for c in curves for p in c[1:-1]] or [p for c in curves for p in c]
    lo = [min(p[c] for p in bends) - 2 * diameter for c in (0, 1)]
    hi = [max(p[c] for p in bends) + 2 * diameter for c in (0, 1)]
    span = max(hi[0] - lo[0], hi[1] - lo[1]) * 1.15
    px = size / span
    cx, cy = (lo[0] + hi[0]) / 2, (lo[1] + hi[1]) / 2
    depth = [[-1e30] * size for _ in range(size)]
    image = [bytearray(b"\xff" * 3 * size) for _ in range(size)]
    r = max(1.5, 0.5 * diameter * px)
    for i, curve in enumerate(curves):
        clipped = [p for p in resampled(curve, max(0.15 * diameter, length(curve) / 20000))]
        for k, p in enumerate(clipped):
            x, y = size / 2 + (p[0] - cx) * px, size / 2 - (p[1] - cy) * px
            if not (-r < x < size + r and -r < y < size + r):
                continue
            fade = k / max(1, len(clipped) - 1)
            for row in range(max(0, int(y - r)), min(size, int(y + r) + 1)):
                for col in range(max(0, int(x - r)), min(size, int(x + r) + 1)):
                    q = ((col - x) ** 2 + (row - y) ** 2) / (r * r)
                    if q > 1:
                        continue
                    z = p[2] * px + math.sqrt(1 - q) * r
                    if z > depth[row][col]:
                        depth[row][col] = z
                        light = 0.45 + 0.55 * math.sqrt(1 - q)
                        base = COLOURS[i % 3]
                        for c in range(3):  # darker towards the tail
                            image[row][3 * col + c] = int(base[c] * light * (1 - 0.45 * fade))
    raw = b"".join(b"\0" + bytes(row) for row in image)

    def chunk(tag, data):
        body = tag + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b""))


# ---------------------------------------------------------------- what is drawn

class Drawing:
    """Curves in diameters; `knot` is the Jones polynomial of what they close up to, None when it names nothing."""

    def __init__(self, curves, closed=False, knot=None, close=None, view="z"):
        self.curves, self.closed, self.knot, self.view = curves, closed, knot, view
        self.close = close or (lambda c: c)


def drawings():
    reef = tie([(3, 1), (3, -1)])
    granny = tie([(3, 1), (3, 1)])
    pair = lambda c: [closed_pair(*c)]
    reverse = lambda c: [closed_pair(c[0], c[1][::-1])]
    alone = lambda c: [closed_far(c[0])]
    over = lambda c: [closed_far([(x, -y, z) for x, y, z in c[0]], )]
    T, M = TREFOIL, mirror(TREFOIL)
    out = {
        "overhand": Drawing([overhand(3)], knot=T, close=alone),
        "double_overhand": Drawing([overhand(5)], knot=CINQUEFOIL, close=alone),
        "reef": Drawing(list(reef), knot=times(T, M), close=pair),
        "granny": Drawing(list(granny), knot=times(T, T), close=pair),
        "thief": Drawing([reef[0], reef[1][::-1]], knot=times(T, M), close=reverse),
        "grief": Drawing([granny[0], granny[1][::-1]], knot=times(T, T), close=reverse),
        "surgeon": Drawing(list(tie([(5, 1), (3, -1)])), knot=times(CINQUEFOIL, M), close=pair),
        "surgeon_locked": Drawing(list(tie([(5, 1), (3, -1), (3, 1)])), knot=times(times(CINQUEFOIL, M), T),
                                  close=pair),
        "square": Drawing([locked([(3, 1), (3, -1)])], knot=times(T, M), close=over),
        "two_squares": Drawing([locked([(3, 1), (3, -1), (3, 1), (3, -1)])],
                               knot=times(times(T, M), times(T, M)), close=over),
        "figure_eight": Drawing([open_figure_eight()], knot=FIGURE_EIGHT, close=lambda c: [closed_side(c[0])]),
        "trefoil": Drawing([torus_trefoil()], closed=True, knot=M),
        "figure_eight_ring": Drawing([ring_figure_eight()], closed=True, knot=FIGURE_EIGHT),
        "loose_overhand_1": Drawing([loose_overhand(3, 600.0)], knot=T, close=alone),
        "loose_overhand_2": Drawing([loose_overhand(5, 600.0)], knot=CINQUEFOIL, close=alone),
        "small_overhand_1": Drawing([loose_overhand(3, 60.0)], knot=T, close=alone),
        "small_overhand_2": Drawing([loose_overhand(5, 60.0)], knot=CINQUEFOIL, close=alone),
        "post_throw": Drawing([overhand(3, radius=6.0)], knot=T, close=alone),
        "three_twisted": Drawing(twisted_threads(3, 4, 9.0, 1.1)),
        "braid": Drawing(braid(4)),
        "wound": Drawing([wound(3, 10.0)], view="y"),
        "clove_hitch": Drawing([spline(clove(10.0))], view="y"),
        "muenter": Drawing([muenter(10.0)], view="y"),
        "half_hitches": Drawing([two_half_hitches(10.0, 0)], view="y"),
        "round_turn": Drawing([two_half_hitches(10.0, 1)], view="y"),
    }
    for name, hands, knot in (("slip_granny", (1, 1), times(M, M)), ("slip_reef", (1, -1), times(M, T)),
                              ("slip_three", (1, -1, 1), times(times(M, T), M))):
        out[name] = Drawing(list(half_hitches(hands)), knot=knot, close=pair)
    out["slip_double"] = Drawing(list(half_hitches((1, -1), wraps=2)), knot=times(mirror(CINQUEFOIL), CINQUEFOIL),
                                 close=pair)
    out["slack"] = Drawing([slack(80.0, 26.0)])
    for half_turns in (2, 4, 6, 8):
        out[f"pair_{half_turns}"] = Drawing(twisted_pair(half_turns, 30.0))
    return out


def files():
    """name.csv -> curve in mm: each drawing at the sizes that scenarios use, with straight ends up to its length."""
    d = drawings()
    out = {}

    def write(name, curve, diameter, total=None, start=None):
        if total is not None:
            curve = trimmed(curve, total / diameter, start / diameter)
        out[name + ".csv"] = scaled(curve, diameter)

    # diameter, length of each thread of a tie and from its load to the first throw, of a single thread
    sizes = {"1mm": (1.0, 74.5, 15.0, 120.0), "02mm": (0.2, 30.0, 8.0, 30.0), "0025mm": (0.025, 15.0, 5.0, 60.0)}
    for size, (diameter, both, start, one) in sizes.items():
        for name in ("reef", "granny", "thief", "grief"):
            for side, curve in zip(("left", "right"), d[name].curves):
                write(f"{name}_{size}_{side}", curve, diameter, both, start)
        spare = one - diameter * length(d["overhand"].curves[0])
        write(f"overhand_{size}", d["overhand"].curves[0], diameter, one, spare / 2)
    for side, curve in zip(("left", "right"), d["reef"].curves):
        write(f"reef_0025mm_short_{side}", curve, 0.025, 4.0, 1.5)
    for name in ("trefoil", "figure_eight_ring"):
        write(f"{name}_02mm", d[name].curves[0], 0.2)
    for name in ("figure_eight", "double_overhand", "square", "two_squares", "post_throw", "half_hitches",
                 "round_turn", "wound", "muenter"):
        curve = d[name].curves[0]
        write(f"{name}_02mm", curve, 0.2, 0.2 * (length(curve) + 60.0), 0.2 * 30.0)
    # Drawn tight it takes some 10 mm of its tail.
    curve = d["clove_hitch"].curves[0]
    write("clove_hitch_02mm", curve, 0.2, 0.2 * (length(curve) + 120.0), 0.2 * 30.0)
    write("slack_02mm", scaled(d["slack"].curves[0], 99.5 / length(d["slack"].curves[0])), 0.2)
    for name in ("surgeon", "surgeon_locked"):
        for side, curve in zip(("left", "right"), d[name].curves):
            write(f"{name}_02mm_{side}", curve, 0.2, 30.0, 6.0)
    for name in ("slip_granny", "slip_reef", "slip_three", "slip_double"):
        for side, curve in zip(("post", "hitches"), d[name].curves):
            write(f"{name}_02mm_{side}", resampled(curve, 1.0) if side == "post" else curve, 0.2)
    for name in ("braid", "three_twisted"):
        for side, curve in zip(("first", "second", "third"), d[name].curves):
            write(f"{name}_02mm_{side}", curve, 0.2)
    for half_turns in (2, 4, 6, 8):
        for side, curve in zip(("first", "second"), d[f"pair_{half_turns}"].curves):
            write(f"pair_{half_turns}_{side}", curve, 0.2)
    for name in ("loose_overhand", "small_overhand"):
        for winding in (1, 2):
            curve = d[f"{name}_{winding}"].curves[0]
            tail = 20 if name == "loose_overhand" else 250  # what the loop takes when it opens
            write(f"{name}_{winding}", curve, 0.025, 0.025 * (length(curve) + 2 * tail), 0.025 * tail)
    return out


def text_of(curve):
    return "".join("%.6f,%.6f,%.6f\n" % tuple(c + 0.0 for c in p) for p in curve)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare with the files that are there")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="DIR", help="draw every curve as PNG")
    options = parser.parse_args()
    wrong = []
    for name, drawing in drawings().items():
        apart = clearance(drawing.curves, drawing.closed)
        bend = min(tightest_bend(c, drawing.closed) for c in drawing.curves)
        line = f"{name:20} apart {apart:5.2f} d  bend {bend:5.2f} d"
        good = apart > 1.3 and bend > 0.8
        if drawing.knot is not None:
            found, count = jones_of(drawing.close(drawing.curves))
            line += f"  {count:2} crossings  determinant {determinant(found):3.0f}"
            good = good and found == drawing.knot
        print(line + ("" if good else "  WRONG"))
        if not good:
            wrong.append(name)
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            picture(options.pictures / f"{name}.png", drawing.curves, drawing.closed, 1.0, view=drawing.view)
    points = HERE / "points"
    texts = {name: text_of(curve) for name, curve in files().items()}
    mesh, triangles = torus(8.0, 1.0)
    texts["ring.obj"] = "".join("v %.6f %.6f %.6f\n" % p for p in mesh) + "".join(
        "f %d %d %d\n" % tuple(n + 1 for n in t) for t in triangles)
    for name, text in texts.items():
        if not options.check:
            points.mkdir(exist_ok=True)
            (points / name).write_text(text)
        elif not (points / name).exists() or (points / name).read_text() != text:
            wrong.append(name)
    if options.check:
        wrong += sorted(p.name for p in points.iterdir() if p.name not in texts)
    if wrong:
        print("wrong: " + ", ".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
