"""What the scripted trainee sees of the thread: its short end, where the hands have brought it so far.

Hands that tie by themselves miss an end that lies some tenths of a millimetre elsewhere, and any change of the physics
lays it elsewhere. So the script looks, as one who ties does: `make_paths.py --look ligature` plays what it has written so
far, takes the short end where it is, and goes on. What was seen is kept in sights.json, from which the paths follow
without looking.
"""
import csv
import json
import pathlib
import subprocess
import tempfile

from hands import add, between, unit, write_aims

HERE = pathlib.Path(__file__).parent
SEEN = HERE / "sights.json"


def along(points, arc):
    """The place so far along a polyline from its first point."""
    for a, b in zip(points, points[1:]):
        length = sum((q - p) ** 2 for p, q in zip(a, b)) ** 0.5
        if arc <= length:
            return between(a, b, arc / length)
        arc -= length
    return points[-1]


class Sight:
    """Looks by the program, or remembers what it saw."""

    def __init__(self, scenario, program=None):
        self.scenario, self.program = scenario, program
        self.seen = [] if program else json.loads(SEEN.read_text())[scenario]
        self.next = 0
        self.aims = {"right": [], "left": []}  # of each hand, as far as they are written

    def short_end(self, t, right, left, take):
        """(at, tail): where the short end is at t, so far from its end [mm], and the direction in which it goes on there."""
        return self.place(t, right, left, take, False)

    def long_end(self, t, right, left, take):
        """Likewise of the end with the needle, so far from its point."""
        return self.place(t, right, left, take, True)

    def place(self, t, right, left, take, from_last):
        """The place so far from one end or the other, and the direction in which that end goes on there."""
        if self.program and self.next == len(self.seen):
            points = self.look(t, right, left)
            if from_last:
                points.reverse()
            at = along(points, take)
            tail = unit(add(at, along(points, take + 0.5), -1.0))
            self.seen.append([[round(v, 3) for v in at], [round(v, 3) for v in tail]])
            print(f"{self.scenario}: at {t:.2f} s {self.seen[-1]}", flush=True)
        at, tail = self.seen[self.next]
        self.next += 1
        return tuple(at), unit(tail)

    def look(self, t, right, left):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            text = (HERE / f"{self.scenario}.toml").read_text()
            lines = text[:text.index("[exercise]")].splitlines()
            hands = iter((("right", right), ("left", left)))
            for i, line in enumerate(lines):
                if line.startswith("duration_s"):
                    lines[i] = f"duration_s = {t:.3f}"
                if line.startswith("path_file"):
                    name, path = next(hands)
                    path.write(folder / f"{name}.csv")
                    lines[i] = f'path_file = "{name}.csv"'
                if line.startswith("aims_file"):
                    lines[i] = f'aims_file = "{name}_aims.csv"' if self.aims[name] else ""
                    write_aims(folder / f"{name}_aims.csv", self.aims[name])
            lines += ["[output]", "every_s = 1.0"]
            (folder / "so_far.toml").write_text("\n".join(lines) + "\n")
            subprocess.run([self.program, "sim", folder / "so_far.toml", "--out", folder / "out"], check=True,
                           stdout=subprocess.DEVNULL)
            with open(folder / "out" / "threads.csv") as table:
                rows = list(csv.DictReader(table))
        last = rows[-1]["t_s"]
        return [tuple(float(r[k]) for k in ("x_mm", "y_mm", "z_mm")) for r in rows if r["t_s"] == last]
