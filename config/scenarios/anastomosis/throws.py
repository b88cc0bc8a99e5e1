"""The knot of the scripted stitch: two instrument throws of opposite hand, and the cut.

For a throw the right hand holds its closed jaws across the vessels, pointing away from the operator; the left hand,
which has the needle, lays the long end once round them, rolling so that the thread leaves the needle straight. The
right hand goes to the short end with the loop on its jaws, takes it and backs out of the loop; then the hands go apart,
each to the other side. The second throw is the mirror image of the first: a reef. Wound as the first it is a granny.
"""
import math

from hands import DEG, add, between, cross, eased, pointing, quaternion, rolled, rolled_quaternion, turned, unit

REACTION = 0.15                   # of a hand to what its eye sees (drivers/virtual_rig/hand_eye.hpp) [s]
EVERY, FOLLOWED = 0.1, 0.35        # a hand that follows what it sees [s]
OPEN, WIDE, SHUT = 0.2, 0.6, 0.0  # [deg]
SWAGE = (6.48, 0.0, 15.25)        # where it is when the thread has been drawn through, ...
TANGENT = 68.0                    # ... and how the thread runs into it there [deg from x towards z]
LONG = 13.7                       # of thread from the second vessel to the needle [mm]
ROUND = 0.5                       # radius of a loop about closed jaws [mm]
SLACK = 0.5                       # of the long end while it is laid round [mm]
BEHIND = 3.6                      # the loop's distance from the tips [mm]
DEEP = 0.3                        # so far behind them the short end is taken: nearer, the sooner the loop is off [mm]
KNOT = (0.0, 0.0, 2.6)            # where it comes to lie
EASE = 3.0                        # of the long end, once the knot is drawn up, until the short one is let go, ...
SLACKENED = 1.8                   # ... and while it is cut [mm]
CUT_AT = 9.2                      # there, from the needle's point [mm]
BACK = -8.0                       # y where the right hand waits [mm]


def facing(tail):
    """Jaws that point away from the operator, faces on either side of a thread that runs along `tail`."""
    x, t = (0.0, 1.0, 0.0), unit((tail[0], 0.0, tail[2]))
    y = (-t[2], 0.0, t[0])
    return quaternion(x, y, cross(x, y))


def distance_laid(root, centre, angle, length):
    """Distance from the jaws of a hand in the direction `angle` (counted on) that has laid a thread of this length from
    `root` over and round them. Places in the plane of x and z."""
    dx, dz = root[0] - centre[0], root[1] - centre[1]
    apart, at = math.hypot(dx, dz), math.atan2(dz, dx)
    first = at + math.acos(ROUND / apart)  # where it comes to the jaws

    def laid(far):
        turned = angle * DEG - math.acos(ROUND / far) - first
        if turned <= 0:
            return math.hypot(centre[0] + far * math.cos(angle * DEG) - root[0],
                              centre[1] + far * math.sin(angle * DEG) - root[1])
        return math.sqrt(apart**2 - ROUND**2) + ROUND * turned + math.sqrt(far**2 - ROUND**2)

    low, high = 1.01 * ROUND, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if laid(middle) < length else (low, middle)
    return low


def aim(t, over, end, arc, at):
    """At the place so far from an end of the thread, which was `at` when the path was laid; made good `over` after t."""
    return (t, over - REACTION, 0, end, arc, *at)


def back_to_path(t, over):
    """Looks at nothing any more; there `over` after t."""
    return (t, over - REACTION, 0, "none", 0, 0, 0, 0, 0, 0, 0)


class Hands:
    def __init__(self, right, left, left_aims, deep):
        self.right, self.left = right, left
        _, self.tip, self.turn, self.opening = right.rows[-1]
        _, grip, self.left_turn, _ = left.rows[-1]
        self.grip = add(grip, SWAGE, -1.0)
        self.needle = add(self.grip, pointing(self.left_turn), -deep)  # where they have it
        self.swage, self.roll = SWAGE, 0.0
        self.right_aims, self.left_aims = [], left_aims

    def look(self, t, over, take, at, left=None, end="first"):
        """The right hand, and the left as far as told, makes good what the thread is off, within `over` of the look."""
        row = aim(t, over, end, take, at)
        self.right_aims.append((*row, 1.0, 1.0, 1.0))
        if left:
            self.left_aims.append((*row, *left))

    def follow(self, begin, end, take, at, left=None):
        """Keeps looking: what the thread is off is made good again and again, each time within FOLLOWED of the look."""
        for k in range(1, round((end - begin) / EVERY) + 1):
            self.look(begin + EVERY * k, FOLLOWED, take, at, left)

    def look_away(self, t, over):
        """Both hands come back to their paths."""
        self.right_aims.append(back_to_path(t, over))
        self.left_aims.append(back_to_path(t, over))

    def move_right(self, begin, end, to, opening=None, turn=None, count=12):
        tip, wide, from_turn = self.tip, self.opening, self.turn
        self.tip, self.turn = to, from_turn if turn is None else turn
        self.opening = wide if opening is None else opening
        if self.right.rows[-1][0] < begin:
            self.right.to(begin, tip, from_turn, wide)
        for k in range(1, count + 1):
            u = eased(k / count)
            self.right.to(begin + (end - begin) * k / count, between(tip, to, u), turned(from_turn, self.turn, u),
                          wide + u * (self.opening - wide))

    def left_to(self, t, swage, roll):
        self.swage, self.roll = swage, roll
        self.left.to(t, add(swage, rolled(self.grip, roll)), rolled_quaternion(self.left_turn, roll), SHUT)

    def move_left(self, begin, end, to, roll=None, count=12):
        swage, rolls = self.swage, self.roll
        if self.left.rows[-1][0] < begin:
            self.left_to(begin, swage, rolls)
        for k in range(1, count + 1):
            u = eased(k / count)
            self.left_to(begin + (end - begin) * k / count, between(swage, to, u),
                         rolls if roll is None else rolls + u * (roll - rolls))


def in_line(hands, swage, knot):
    """The roll in which a thread from there pulls the needle in a line with the jaws, and cannot turn it."""
    from_grip = math.atan2(-hands.needle[2], -hands.needle[0]) / DEG
    roll = math.atan2(knot[2] - swage[2], knot[0] - swage[0]) / DEG - from_grip
    return roll + 360 * round((hands.roll - roll) / 360)


def throw(hands, t, side, see, root, length, height, back, take=0.25, wind=None, front=0.6, low=1.0, reach=1.0,
          across=0.0, settle=0.0, line_up=True, ahead=1.5):
    """One throw. side: +1 where the long end comes from the right of the short one, -1 from its left; see: (t, take) to
    the short end's (at, tail); root: where the long end begins; length: of it; height: of the jaws that it is laid
    round; take: how far from its end the short one is taken, front: from how far in front of it; low: what part of the
    right hand's way down the left one goes as well; reach: how long that takes to where it begins [s]; across: how far
    from its end the short end has the direction that the jaws are laid across; settle: for how long the open jaws
    follow the short end before they shut [s]; line_up: the needle is rolled into the line of the thread before it is
    drawn; back: the right hand's way out of the loop from where it took the end, move by move, and y where it draws
    from; ahead: y to which the left one draws then; wind: +1 laid round anticlockwise as the operator sees it, -1
    clockwise, else as the side asks for in a reef.
    @returns when it has been drawn through"""
    wind = side if wind is None else wind
    end, tail = see(t - 0.6, across)
    x, z = end[0] - 0.55 * side, height  # of the jaws that it is laid round

    # In the mirror, x -> wind x.
    def place(angle, far):
        return (x + wind * far * math.cos(angle * DEG), 1.0, z + far * math.sin(angle * DEG))

    def roll(angle):
        return (angle if wind > 0 else 180 - angle) - TANGENT

    def far(angle):
        return distance_laid((wind * root[0], root[2]), (wind * x, z), angle, length - SLACK)

    # To where nothing is laid yet: over the jaws, or past their tips to the side where the thread comes up beside them.
    over, round_ = (100.0, 505.0) if wind == side else (5.0, 395.0)
    hands.move_right(t - 0.6, t - 0.05, (x, BACK, z), SHUT, facing(tail))
    hands.move_right(t, t + 0.6, (x, BEHIND, z))
    turns = 360 * round((hands.roll - roll(over)) / 360)
    if wind != side:
        hands.move_left(t, t + 1.0, (x, BEHIND + 3.5, z - 1.0), 0.5 * (hands.roll + roll(over) + turns))
        t += 1.0
    hands.move_left(t, t + reach, place(over, far(over)), roll(over) + turns)
    t += reach
    for k in range(1, 61):
        angle = over + eased(k / 60) * (round_ - over)
        hands.left_to(t + 2.2 * k / 60, place(angle, far(angle)), roll(angle) + turns)
    t += 2.3
    # With the loop to the short end, jaws open about it.
    at, _ = see(t, take)
    hands.look(t, 0.8, take, at, (1.0, 0.6, low))
    # The thread that is carried along draws the short end nearer.
    hands.follow(t + 0.3, t + 1.0, take, at, (1.0, 0.6, low))
    by = (at[0] - hands.tip[0], at[1] - front - hands.tip[1], at[2] - hands.tip[2])
    hands.move_right(t, t + 0.8, add(hands.tip, by))
    hands.move_left(t, t + 0.8, add(hands.swage, (by[0], 0.6 * by[1], low * by[2])))
    t += 0.8
    hands.move_right(t, t + 0.2, hands.tip, WIDE)
    t += 0.25
    at, _ = see(t, take)
    hands.look(t, 0.4, take, at)
    hands.move_right(t, t + 0.4, (at[0], at[1] + DEEP, at[2]))
    hands.move_left(t, t + 0.4, add(hands.swage, (0.0, 1.0, 0.0)))
    hands.follow(t, t + 0.4 + settle, take, at)
    t += 0.45 + settle
    hands.move_right(t, t + 0.2, hands.tip, SHUT)
    t += 0.25
    # Slack for the loop, and back out of it.
    hands.move_left(t, t + 0.3, add(hands.swage, (side * 1.0, -0.6, -0.9)))
    t += 0.3
    hands.move_right(t, t + 0.8, (at[0] + side * 0.6, at[1] - back[0], at[2] + 0.2))
    hands.move_left(t, t + 0.8, add(hands.swage, (0.0, 0.6, 0.0)))
    t += 0.8
    hands.move_right(t, t + 0.5, (at[0] + side * 1.6, at[1] - back[1], at[2] - 0.3))
    hands.move_left(t, t + 0.5, add(hands.swage, (-side * 0.8, 0.8, 0.0)))
    t += 0.5
    hands.look_away(t, 1.2)
    hands.move_right(t, t + 1.2, (side * 1.2, -back[2], 4.2))
    drawn = (-side * 8.0, ahead, 4.7)
    hands.move_left(t, t + 1.2, drawn, in_line(hands, drawn, KNOT) if line_up else None)
    return t + 1.2


def tie(right, left, t, sight, left_aims, deep, granny=False):
    """From when the thread has been drawn through to the cut end; a granny has its second throw laid round as the first.
    left_aims: of the left hand, up to then; deep: how far behind its tips it has the needle.
    @returns when it cuts, when it is done, and what the right and the left hand look at (write_aims)"""
    hands = Hands(right, left, left_aims, deep)

    sight.aims = {"right": hands.right_aims, "left": hands.left_aims}

    def see(at, take):
        return sight.short_end(at, right, left, take)

    # From nearer, jaws that open push the short end aside. Taken nearer its end, it is stripped off by a loop that is
    # drawn tight before.
    t = throw(hands, t, 1, see, root=(0.8, 0.0, 2.5), length=LONG, height=7.8, front=1.25,
              settle=0.0 if granny else 0.4, line_up=not granny, back=(2.6, 4.2, 4.0))
    # Along the vessels, low, to either side alike: the throw comes down between the holes and leaves the ends in line.
    hands.move_right(t, t + 1.6, (3.4, -0.6, 3.0))
    hands.move_left(t, t + 1.6, (-13.4, 0.6, 3.4))
    t += 1.6
    hands.move_left(t, t + 0.8, (-12.6, 1.0, 4.0))
    hands.move_right(t, t + 0.8, (3.6, 0.6, 4.0))
    t += 0.8
    hands.move_right(t, t + 0.2, hands.tip, 0.4)
    t += 0.3
    hands.move_right(t, t + 0.6, add(hands.tip, (0.0, -5.0, 0.0)))
    t += 1.25
    # The short end lies low: the needle is not to come down on the vessel with it. Taken behind where the first throw's
    # jaws have bent it: that bend points at the jaws, and slips past between them. The open jaws go after it until it
    # has come to rest: beside it they would shut on nothing. The long end draws the loop on ahead: a slack one rides on
    # them.
    if granny:
        t = throw(hands, t, -1, see, root=(0.6, 0.0, 3.6), length=12.6, height=8.3, take=0.6, across=0.7, wind=1,
                  low=0.7, reach=1.6, line_up=False, back=(2.4, 3.8, 3.4))
    else:
        t = throw(hands, t, -1, see, root=(0.6, 0.0, 3.6), length=12.6, height=8.3, take=0.67, across=0.7, low=0.7,
                  reach=1.6, settle=0.4, ahead=2.5, back=(2.1, 3.3, 2.9))
    # Low over the vessels, so that the knot goes down to them, and both ends alike: drawn along one of them, it slides
    # to that one's hole and bends the vessels.
    short, long = (-3.4, 10.2) if granny else (-4.4, 10.6)
    hands.move_right(t, t + 1.2, (short, -0.3, 3.0))
    hands.move_left(t, t + 1.2, (long, 0.3, 3.0), in_line(hands, (long, 0.3, 3.0), KNOT))
    t += 1.2
    # Less tight, ends that the approximator leaves gape; and a granny falls into half hitches when it is let go.
    short, long = (-6.0, 12.3) if granny else (-5.9, 12.2)
    hands.move_right(t, t + 1.2, (short, -0.3, 3.0))
    hands.move_left(t, t + 1.2, (long, 0.3, 3.0))
    t += 1.3
    # One end alone would draw a reef out straight into hitches: slack before the other is let go.
    hands.move_left(t, t + 0.4, add(hands.swage, (-EASE, 0.0, 0.0)))
    t += 0.45
    # Off the short end, to the long one near the knot, and cut.
    hands.move_right(t, t + 0.2, hands.tip, 0.4)
    # The granny's long end would hang behind the vessel: kept straighter.
    slackened, cut_at = (0.6, 8.0) if granny else (SLACKENED, CUT_AT)
    hands.move_left(t + 0.3, t + 1.1, add(hands.swage, (EASE - slackened, 0.0, 0.0)))
    hands.move_right(t + 0.3, t + 0.8, (-4.9, -7.0, 4.8))
    t += 1.3
    right.stay(t)
    left.stay(t)
    at, tail = sight.long_end(t, right, left, cut_at)
    hands.move_right(t, t + 0.8, (at[0], -5.0, at[2]), OPEN, facing(tail))
    t += 0.8
    hands.look(t, 0.6, cut_at, at, end="last")
    hands.move_right(t, t + 0.6, (at[0], at[1] + 1.4, at[2]))
    t += 0.65
    hands.move_right(t, t + 0.3, hands.tip, SHUT)
    t += 0.4
    left.stay(t + 0.2)
    hands.right_aims.append(back_to_path(t + 0.2, 0.5))
    hands.move_right(t + 0.2, t + 0.4, hands.tip, OPEN)  # it has hold of both ends
    hands.move_right(t + 0.4, t + 1.4, (2.6, -6.0, 4.6))
    hands.move_left(t + 0.4, t + 1.4, (11.0, 4.0, 7.0))
    right.stay(t + 4.0)  # until the knot has been named twice
    left.stay(t + 4.0)
    return t + 0.1, t + 4.0, hands.right_aims, hands.left_aims
