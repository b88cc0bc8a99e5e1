#pragma once
/// Numbers of the contact solver that stand for a length or a force, in one place. They assume threads of 0.02 to 1 mm.

#include <cstddef>
#include <cstdint>

namespace ligature::contact {

inline constexpr double kContactSoftness = 1e-5;  ///< first estimate of force / k: what one iteration may leave [mm]
inline constexpr double kMostStiffness = 1e9;     ///< of an augmentation [uN/mm]
inline constexpr double kLaid = 1e-9;             ///< so near a plane a thread is laid on it, and touches it [mm]
inline constexpr int kMostWithinBound = 12;       ///< solves that slide by less than friction holds; then it sticks
inline constexpr double kSlowGap = 0.25;          ///< of what a contact lacked: a solve that leaves more ...
inline constexpr double kStiffer = 10;            ///< ... makes it so much stiffer, ...
inline constexpr double kSmallChange = 1e-9;      ///< ... unless its force changes no more than this part
inline constexpr double kMostBenchForce = 1e8;    ///< of one contact with a plane, which gives way then [uN]
inline constexpr double kRecoverySpeed = 20.0;    ///< at which a penetration found at the start is pushed out [mm/s]
inline constexpr double kGripGive = 0.02;         ///< of the pads: force / k of a grip that begins to slide [mm]
inline constexpr double kGripAcross = 30;         ///< times as stiff across the faces of jaws, which are of steel
inline constexpr double kGripAlong = 1.0 / 16;    ///< of a sliding grip's secant, that resists sliding further
inline constexpr double kTravelLimit = 5.0;       ///< of a vertex in one iteration, or a tenth of the thread [mm]
inline constexpr double kStill = 1e-9;            ///< a solve that moves no vertex further ends the step [rest length]
inline constexpr double kSmallMove = 1e-4;        ///< a Newton step up to here needs no line search [rest length]
inline constexpr double kMostLeft = 1e-3;         ///< imbalance over the load that a still thread may have
inline constexpr double kMotionPart = 0.5;        ///< of a prescribed motion that one linearisation takes [rest length]
inline constexpr double kTurnPart = 0.3;          ///< likewise of a held frame that turns [rad]
inline constexpr int kMostParts = 12;             ///< that such a motion is cut into
inline constexpr double kMostWholeTurn = 1e-3;    ///< of a free thread, that balancing it as a whole may add [rad]
inline constexpr double kMostGuessedTurn = 1.0;   ///< likewise, before the step [rad]
inline constexpr double kSmallWholeTurn = 1e-13;  ///< below, it is balanced [rad]
inline constexpr int kMostWholeRounds = 6;        ///< of balancing
inline constexpr double kLeastShift = 1e-9;   ///< of an indefinite Hessian, to the stiffness of bending or of the load
inline constexpr double kShiftGrowth = 10;    ///< from one try to the next
inline constexpr int kMostShifts = 10;        ///< tries
inline constexpr int kMostTrusted = 4;        ///< steps without descent before the search goes back
inline constexpr double kArmijo = 1e-4;       ///< least fall of the merit over what its slope promises
inline constexpr double kMeritNoise = 1e-13;  ///< relative rounding of a sum of energies
inline constexpr int kMostHalvings = 30;      ///< of a Newton step
inline constexpr double kMostStretch = 1.2;   ///< of an edge after an iteration that was cut off, to its rest length
inline constexpr double kMostGrowth = 1.02;   ///< ... or, where that was more before the step, to what it was
inline constexpr double kPlaceHold = 0.1;     ///< draws a contact with a body towards its vertex [radius / edge^2]; ...
inline constexpr double kBumpHold = 0.25;     ///< ... so does this part of R x^4 (body_contacts.hpp), ...
inline constexpr double kMostHold = 0.5;      ///< ... both together at most by so much [radius / edge^2]
inline constexpr double kFaceHold = 0.5;      ///< draws a contact with a face of a mesh towards its vertex, likewise
/// Of its thickness and a thread's, that a body moves in one linearisation against what it meets; an arm against
/// tissue, of its least radius.
inline constexpr double kBodyPart = 1.0;
inline constexpr double kRigidPart = 10;        ///< likewise one that tissue meets [skins of both]
inline constexpr double kSameSide = 0.7;        ///< cosine of two normals that belong to one contact with a mesh
inline constexpr double kFollowedTurn = 1.0;    ///< a held frame turns further in parts, so that turns are counted,
inline constexpr double kMostFollowed = 100.0;  ///< up to so many parts in one step [rad]
inline constexpr double kLeastLevel = 1;  ///< of the sum of two normals across an edge: a sharper bend is left as it is

// Bodies that deform.
inline constexpr double kPointFriction = 2;  ///< mu of a needle's point on them: it catches, within the pierce angle
inline constexpr double kSoftRest = 1e-3;  ///< that the last move of a converged step may have moved a node [diameter]
inline constexpr int kLearnt = 12;         ///< linearisations, after which a body that still moves is renewed in each
inline constexpr int kPatience = 7;        ///< linearisations, after which a body that alone still moves is renewed
inline constexpr double kSoftLeap =
    0.9;  ///< of its move before, made whole, that a body which converges moves less than
inline constexpr double kLeastRelax = 0.25;   ///< of a move that is made where it does not
inline constexpr double kLikelyMove = 2;      ///< times the last: a move that bodies are looked at for
inline constexpr double kDrawnAlong = 0.25;   ///< of the furthest foreseen move, that any vertex may make
inline constexpr double kAuditShare = 0.25;   ///< of the distance kept from a soft surface, that is proven of a move
inline constexpr double kTissueReach = 1;     ///< that surfaces of soft bodies are looked at within [skins of both]
inline constexpr double kTissueMargin = 0.5;  ///< a contact of theirs that would be left nearer is coupled [skins]
inline constexpr double kTissueLeft = 0.01;   ///< that a converged step may lack of their distance [skins]

// Contact between strands.
inline constexpr double kContactReach = 0.5;  ///< surfaces nearer than this are looked at, beyond motion [diameter]
inline constexpr double kRenewMove = 0.1;     ///< of a contact, after which places and normals are renewed [diameter]
inline constexpr int kPlacesFree = 4;         ///< between strands alone: linearisation from which on places are held
inline constexpr double kTouching = 0.02;     ///< surfaces nearer than this make threads move together [diameter]
inline constexpr double kChosenMargin = 0.1;  ///< a contact that would be left nearer than this is coupled [diameter]
inline constexpr double kMostMove = 0.5;      ///< of a vertex in one iteration, ...
inline constexpr double kMostMoveDiameters = 4;   ///< ... or so many diameters
inline constexpr double kPenetrationLeft = 1e-3;  ///< that a converged step may have [diameter]
inline constexpr double kContactBalance = 1e-7;  ///< imbalance over the load at which a step among strands is done, ...
inline constexpr double kContactRest = 1e-5;     ///< ... if its last move was no longer [diameter]
inline constexpr double kRestShare = 0.05;  ///< among tissue: of the way that the step went, may be left of it, ...
inline constexpr double kMostRest = 0.01;   ///< ... and no more than this [diameter]
inline constexpr double kMostStrandForce = 1e8;  ///< of one contact [uN]
inline constexpr double kLedMove = 1.5;          ///< times a held vertex's: a longer move is the thread's own
inline constexpr double kMostSlid = 2;           ///< of a contact in one iteration [diameter]
inline constexpr double kMostTurn = 0.3;         ///< ... or, round a body, so much of a turn [rad]
inline constexpr double kSmallPart = 0.25;       ///< a move below this part of what is trusted lets the drag go down
// Drag of the trust region, of all vertices together, in units of the load over the diameter.
inline constexpr double kFirstDrag = 2;
inline constexpr double kLeastDrag = 2e-4;  ///< from here down it is none
inline constexpr double kMostDrag = 200;
inline constexpr double kLooseLoad = 0.01;   ///< dead force on a vertex over the load, of threads that nothing draws at
inline constexpr double kMostDragLoad = 10;  ///< times the load when the step began: more the drag does not go by
inline constexpr double kMostKnotDrag = 2e4;  ///< of vertices near contacts
inline constexpr double kKnotVertices = 500;  ///< that are thought to share it
inline constexpr double kDragGrowth = 4;      ///< from one iteration to the next
inline constexpr double kDragDecay = 2;
/// Where hands hold a strand among tissue, and a step may have two linearisations, both go by how far a move is off
/// what is trusted: a drag that takes ten to die down holds the strand for five steps as if in honey.
inline constexpr double kMostDecay = 16;
// Likewise of vertices near contacts: between strands from what a move leaves of the imbalance there, ...
inline constexpr double kPoorBalance = 0.5;   ///< more than this part asks for more drag, ...
inline constexpr double kPoorDrag = 4;        ///< ... unless it is less than so many times the force of the drag itself
inline constexpr double kGoodBalance = 0.25;  ///< less than this part lets it go down
// ... and among tissue and on bodies alone by how a move lies to the one before.
inline constexpr double kBackAndForth = 0.5;  ///< a move back that is more than this part of it asks for more drag
inline constexpr double kOnward = 0.5;        ///< cosine between both, from which on it lets it go down
inline constexpr double kMostLeap = 2;        ///< among tissue: length of a move over that of the one before
inline constexpr double kMostWorkLed = 4;  ///< times what a step may cost, where hands have not come to where they go
inline constexpr double kMostWorkStuck = 16;  ///< likewise after more than kMostBack steps on end that went back
inline constexpr double kWorkWithout = 20;    ///< contacts' worth of all else in a linearisation
// How exactly a cone problem is solved, from what the step still lacks (inexact Newton).
inline constexpr double kForcing = 0.02;
inline constexpr int kSweptAlone = 2;     ///< between strands alone: linearisations that sweeps alone will do for, ...
inline constexpr double kSettled = 1e-4;  ///< ... unless no more than this part of the load is out of balance ...
inline constexpr std::size_t kFewContacts = 20;        ///< ... in a problem that is solved in no time
inline constexpr std::size_t kInteriorOnBodies = 256;  ///< contacts, of the interior-point method, all with bodies
inline constexpr std::size_t kFewOnWalls = 48;    ///< contacts, most of tissue on bodies or all of tissue: above, ...
inline constexpr std::size_t kMostOnWalls = 640;  ///< ... up to what the splitting takes, ...
/// ... rounds a contact, besides those of any problem: what its factorisations cost, which would leave none of them.
inline constexpr double kRoundsOnWalls = 2;
inline constexpr double kLeastConeTarget = 1e-10;
inline constexpr double kLeastMotionTarget = 1e-7;  ///< [diameter]
inline constexpr double kMostMotionTarget = 1e-3;   ///< [diameter]
// Moves that something is in the way of.
inline constexpr double kBlockedFraction = 1e-3;  ///< a move cut below this is blocked, ...
inline constexpr double kPoorFraction = 0.1;      ///< one cut below this asks contacts with soft bodies for half, ...
inline constexpr double kLeastRecovered = 1e-3;   ///< ... and from this on, twice as much again, where it is not
inline constexpr int kMostGivingWay = 8;          ///< such a move lets nodes of soft bodies give way so many times, ...
inline constexpr double kOfRoom = 0.7;            ///< ... which take this part of the way that there is
inline constexpr double kJamStretch =
    0.1;                                 ///< of an edge, that a vertex which is jammed may be kept back by in one move
inline constexpr double kOffJam = 0.02;  ///< of its radius, that a strand goes off a rigid body it is jammed at
inline constexpr std::size_t kMostJammed = 1024;  ///< vertices and nodes
inline constexpr std::uint32_t kSlidesBy = 16;    ///< edges at most, of a thread that slides along itself, ...
inline constexpr double kSlidesAlong = 0.5;       ///< ... and goes aside by less than this part of its way
inline constexpr int kMostBlocked = 2;            ///< ... and after more than so many on end the step ends where it is
inline constexpr int kMostAuditHalvings = 4;      ///< before an unproven move is undone
inline constexpr int kMostHalvingsBack = 12;      ///< of a step that left edges overstretched
inline constexpr int kMostBack = 20;              ///< such steps on end; after more ...
inline constexpr double kLedAgain = 0.25;         ///< ... hands lead this part of what they did, ...
inline constexpr double kLeastLed = 1e-3;         ///< ... at least of their way, and from then on twice as much a step

}  // namespace ligature::contact
