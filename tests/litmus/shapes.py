"""The published shapes of litmus tests, with the verdict of the manual for each scope, placement and fence.

A verdict is that of the section that a row names. Rows whose section is ``8.10.6, 8.9.5`` combine the axiom with the
definition of causality order. The names of the shapes are those of the literature on weak memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from .programs import SCOPES

# The narrowest scope that includes the threads of a placement.
NEEDED = {"warp": "cta", "block": "cta", "cluster": "cluster", "grid": "gpu"}
WIDTH = {scope: index for index, scope in enumerate(SCOPES)}


@dataclass(frozen=True)
class Row:
    """A program, an outcome, and whether the manual allows it."""

    name: str
    text: str
    placement: str
    outcome: str
    allowed: bool
    section: str

    @property
    def state(self) -> dict[str, int]:
        return {name: int(value) for name, value in (word.split("=") for word in self.outcome.split())}

    def __str__(self) -> str:
        return f"{self.name}-{self.placement}"


def suffices(scope: str, placement: str) -> bool:
    """Whether the scope includes all threads of a placement."""
    return WIDTH[scope] >= WIDTH[NEEDED[placement]]


# The tables keep a row in a line.
# fmt: off

# Shapes whose outcome is forbidden exactly if the scopes include all threads. S stands for the scope.
FORBIDDEN_IN_SCOPE = [
    # Message passing
    ("MP+fence.sc", "st.weak x, 1; fence.sc.S; st.relaxed.S y, 1 | ld.relaxed.S r0, y; fence.sc.S; ld.weak r1, x", "r0=1 r1=0", "8.10.6"),
    ("MP+fence.acq_rel", "st.weak x, 1; fence.acq_rel.S; st.relaxed.S y, 1 | ld.relaxed.S r0, y; fence.acq_rel.S; ld.weak r1, x", "r0=1 r1=0", "8.10.6"),
    ("MP+fence.release+fence.acquire", "st.weak x, 1; fence.release.S; st.relaxed.S y, 1 | ld.relaxed.S r0, y; fence.acquire.S; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+release+acquire", "st.weak x, 1; st.release.S y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+release+fence", "st.weak x, 1; st.release.S y, 1 | ld.relaxed.S r0, y; fence.acquire.S; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+release-then-store", "st.weak x, 1; st.release.S y, 2; st.relaxed.S y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+load-then-acquire", "st.weak x, 1; st.release.S y, 1 | ld.relaxed.S r0, y; ld.acquire.S r2, y; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+exchange", "st.weak x, 1; atom.release.S.exch r2, y, 1 | atom.acquire.S.exch r0, y, 2; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+swap", "st.weak x, 1; st.release.S y, 1 | atom.acquire.S.cas r0, y, 1, 2; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+red+acquire", "st.weak x, 1; red.release.S.add y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", "8.8"),
    ("MP+release-sequence", "st.weak x, 1; st.release.S y, 1 | atom.relaxed.S.add r2, y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r2=1 r0=2 r1=0", "8.9.2"),
    ("MP+red-in-sequence", "st.weak x, 1; st.release.S y, 1 | red.relaxed.S.add y, 2 | ld.acquire.S r0, y; ld.weak r1, x", "r0=3 r1=0", "8.9.2"),
    # Store buffering and its relatives need fence.sc.
    ("SB+fence.sc", "st.weak x, 1; fence.sc.S; ld.weak r0, y | st.weak y, 1; fence.sc.S; ld.weak r1, x", "r0=0 r1=0", "8.10.6"),
    ("R+fence.sc", "st.relaxed.S x, 1; fence.sc.S; st.relaxed.S y, 1 | st.relaxed.S y, 2; fence.sc.S; ld.relaxed.S r0, x", "y=2 r0=0", "8.10.1"),
    ("2+2W+fence.sc", "st.relaxed.S x, 1; fence.sc.S; st.relaxed.S y, 2 | st.relaxed.S y, 1; fence.sc.S; st.relaxed.S x, 2", "x=1 y=1", "8.10.1"),
    ("IRIW+fence.sc", "st.relaxed.S x, 1 | st.relaxed.S y, 1 | ld.relaxed.S r0, x; fence.sc.S; ld.relaxed.S r1, y | ld.relaxed.S r2, y; fence.sc.S; ld.relaxed.S r3, x", "r0=1 r1=0 r2=1 r3=0", "8.9.5"),
    # Load buffering
    ("LB+acquire+release", "ld.acquire.S r0, x; st.release.S y, 1 | ld.acquire.S r1, y; st.release.S x, 1", "r0=1 r1=1", "8.10.6"),
    ("LB+fences", "ld.relaxed.S r0, x; fence.acq_rel.S; st.relaxed.S y, 1 | ld.relaxed.S r1, y; fence.acq_rel.S; st.relaxed.S x, 1", "r0=1 r1=1", "8.10.6"),
    # Chains of three threads
    ("WRC", "st.relaxed.S x, 1 | ld.relaxed.S r0, x; st.release.S y, 1 | ld.acquire.S r1, y; ld.relaxed.S r2, x", "r0=1 r1=1 r2=0", "8.9.5"),
    ("WRC+fences", "st.relaxed.S x, 1 | ld.relaxed.S r0, x; fence.acq_rel.S; st.relaxed.S y, 1 | ld.relaxed.S r1, y; fence.acq_rel.S; ld.weak r2, x", "r0=1 r1=1 r2=0", "8.9.5"),
    ("ISA2", "st.weak x, 1; st.release.S y, 1 | ld.acquire.S r0, y; st.release.S z, 1 | ld.acquire.S r1, z; ld.weak r2, x", "r0=1 r1=1 r2=0", "8.9.5"),
    ("S", "st.weak x, 2; st.release.S y, 1 | ld.acquire.S r0, y; st.weak x, 1", "r0=1 x=2", "8.10.1"),
    # Coherence
    ("CoRR", "st.relaxed.S x, 1 | ld.relaxed.S r0, x; ld.relaxed.S r1, x", "r0=1 r1=0", "8.10.5"),
    ("CoRR-volatile", "st.relaxed.S x, 1 | ld.volatile r0, x; ld.volatile r1, x", "r0=1 r1=0", "8.10.5"),
    ("CoRW", "ld.relaxed.S r0, x; st.relaxed.S x, 1 | st.relaxed.S x, 2", "r0=2 x=2", "8.10.5"),
    ("CoWR", "st.relaxed.S x, 1; ld.relaxed.S r0, x | st.relaxed.S x, 2", "r0=2 x=1", "8.10.5"),
    ("CoRR2", "st.relaxed.S x, 1 | st.relaxed.S x, 2 | ld.relaxed.S r0, x; ld.relaxed.S r1, x | ld.relaxed.S r2, x; ld.relaxed.S r3, x", "r0=1 r1=2 r2=2 r3=1", "8.10.5"),
    # Atomicity of read-modify-write operations
    ("RMW+add", "atom.relaxed.S.add r0, x, 1 | atom.relaxed.S.add r1, x, 1", "r0=0 r1=0", "8.10.3"),
    ("RMW+exchange", "atom.relaxed.S.exch r0, x, 1 | atom.relaxed.S.exch r1, x, 2", "r0=0 r1=0", "8.10.3"),
    ("RMW+swap", "atom.relaxed.S.cas r0, x, 0, 1 | atom.relaxed.S.cas r1, x, 0, 2", "r0=0 r1=0", "8.10.3"),
    ("RMW+store", "atom.relaxed.S.add r0, x, 1 | st.relaxed.S x, 4", "r0=0 x=1", "8.10.5"),
    ("RMW+lost-store", "atom.relaxed.S.add r0, x, 1; ld.relaxed.S r1, x | st.relaxed.S x, 4", "r0=4 r1=4", "8.10.5"),
]

# Shapes with a verdict that does not depend on the scope.
ALWAYS = [
    ("MP+weak", "st.weak x, 1; st.weak y, 1 | ld.weak r0, y; ld.weak r1, x", "r0=1 r1=0", True, "8.10.6"),
    ("MP+relaxed", "st.relaxed.S x, 1; st.relaxed.S y, 1 | ld.relaxed.S r0, y; ld.relaxed.S r1, x", "r0=1 r1=0", True, "8.10.6"),
    ("MP+volatile", "st.volatile x, 1; st.volatile y, 1 | ld.volatile r0, y; ld.volatile r1, x", "r0=1 r1=0", True, "8.4.2"),
    ("MP+weak-flag", "st.weak x, 1; fence.sc.S; st.weak y, 1 | ld.weak r0, y; fence.acq_rel.S; ld.weak r1, x", "r0=1 r1=0", True, "8.9.2"),
    ("MP+no-acquire", "st.weak x, 1; st.release.S y, 1 | ld.relaxed.S r0, y; ld.weak r1, x", "r0=1 r1=0", True, "8.8"),
    ("MP+no-release", "st.weak x, 1; st.relaxed.S y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", True, "8.8"),
    ("MP+acquire-of-other", "st.weak x, 1; st.release.S y, 1 | ld.relaxed.S r0, y; ld.acquire.S r2, z; ld.weak r1, x", "r0=1 r1=0", True, "8.8"),
    ("MP+fence-first", "fence.acq_rel.S; st.weak x, 1; st.relaxed.S y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", True, "8.8"),
    ("MP+stored-over", "st.weak x, 1; st.release.S y, 2 | st.relaxed.S y, 1 | ld.acquire.S r0, y; ld.weak r1, x", "r0=1 r1=0", True, "8.9.2"),
    ("SB", "st.relaxed.S x, 1; ld.relaxed.S r0, y | st.relaxed.S y, 1; ld.relaxed.S r1, x", "r0=0 r1=0", True, "8.10.6"),
    ("SB+fence.acq_rel", "st.weak x, 1; fence.acq_rel.S; ld.weak r0, y | st.weak y, 1; fence.acq_rel.S; ld.weak r1, x", "r0=0 r1=0", True, "8.10.6"),
    ("SB+release+acquire", "st.release.S x, 1; ld.acquire.S r0, y | st.release.S y, 1; ld.acquire.S r1, x", "r0=0 r1=0", True, "8.10.6"),
    ("SB+one-fence.sc", "st.relaxed.S x, 1; fence.sc.S; ld.relaxed.S r0, y | st.relaxed.S y, 1; fence.acq_rel.S; ld.relaxed.S r1, x", "r0=0 r1=0", True, "8.9.3"),
    ("LB", "ld.relaxed.S r0, x; st.relaxed.S y, 1 | ld.relaxed.S r1, y; st.relaxed.S x, 1", "r0=1 r1=1", True, "8.10.4"),
    ("LB+weak", "ld.weak r0, x; st.weak y, 1 | ld.weak r1, y; st.weak x, 1", "r0=1 r1=1", True, "8.10.4"),
    ("LB+deps", "ld.weak r0, x; st.weak y, r0 | ld.weak r1, y; st.weak x, r1", "x=0 y=0", True, "8.10.4"),
    ("LB+deps-thin-air", "ld.weak r0, x; st.weak y, r0 | ld.weak r1, y; st.weak x, r1", "r0=1", False, "8.10.4"),
    ("IRIW+acquire", "st.release.S x, 1 | st.release.S y, 1 | ld.acquire.S r0, x; ld.acquire.S r1, y | ld.acquire.S r2, y; ld.acquire.S r3, x", "r0=1 r1=0 r2=1 r3=0", True, "8.9.5"),
    ("IRIW+fence.acq_rel", "st.relaxed.S x, 1 | st.relaxed.S y, 1 | ld.relaxed.S r0, x; fence.acq_rel.S; ld.relaxed.S r1, y | ld.relaxed.S r2, y; fence.acq_rel.S; ld.relaxed.S r3, x", "r0=1 r1=0 r2=1 r3=0", True, "8.9.5"),
    ("IRIW+fence.sc+weak-stores", "st.weak x, 1 | st.weak y, 1 | ld.relaxed.S r0, x; fence.sc.S; ld.relaxed.S r1, y | ld.relaxed.S r2, y; fence.sc.S; ld.relaxed.S r3, x", "r0=1 r1=0 r2=1 r3=0", True, "8.9.2"),
    ("2+2W+fence.acq_rel", "st.relaxed.S x, 1; fence.acq_rel.S; st.relaxed.S y, 2 | st.relaxed.S y, 1; fence.acq_rel.S; st.relaxed.S x, 2", "x=1 y=1", True, "8.10.1"),
    ("2+2W+release", "st.release.S x, 1; st.release.S y, 2 | st.release.S y, 1; st.release.S x, 2", "x=1 y=1", True, "8.10.1"),
    ("WRC+weak-store", "st.weak x, 1 | ld.weak r0, x; st.release.S y, 1 | ld.acquire.S r1, y; ld.weak r2, x", "r0=1 r1=1 r2=0", True, "8.9.5"),
    ("WRC+no-release", "st.relaxed.S x, 1 | ld.relaxed.S r0, x; st.relaxed.S y, 1 | ld.acquire.S r1, y; ld.relaxed.S r2, x", "r0=1 r1=1 r2=0", True, "8.9.5"),
    ("ISA2+no-acquire", "st.weak x, 1; st.release.S y, 1 | ld.relaxed.S r0, y; st.relaxed.S z, 1 | ld.acquire.S r1, z; ld.weak r2, x", "r0=1 r1=1 r2=0", True, "8.9.5"),
    ("S+no-acquire", "st.weak x, 2; st.release.S y, 1 | ld.relaxed.S r0, y; st.weak x, 1", "r0=1 x=2", True, "8.10.1"),
    ("R+fence.acq_rel", "st.relaxed.S x, 1; fence.acq_rel.S; st.relaxed.S y, 1 | st.relaxed.S y, 2; fence.acq_rel.S; ld.relaxed.S r0, x", "y=2 r0=0", True, "8.10.1"),
    ("CoRR+weak", "st.weak x, 1 | ld.weak r0, x; ld.weak r1, x", "r0=1 r1=0", True, "8.10.5"),
    ("CoWW", "st.weak x, 1; st.weak x, 2", "x=1", False, "8.10.1"),
    ("CoWR-own", "st.weak x, 1; ld.weak r0, x", "r0=0", False, "8.10.6"),
    ("CoRW-own", "ld.weak r0, x; st.weak x, 1", "r0=1", False, "8.10.6"),
    ("RMW+weak-store", "atom.relaxed.S.add r0, x, 1; ld.relaxed.S r1, x | st.weak x, 4", "r0=0 r1=1 x=4", True, "8.10.3"),
]

# Shapes with fixed placements and scopes.
FIXED = [
    ("RMW+manual-2", "atom.cta.add r0, x, 1 | atom.gpu.add r1, x, 1", "grid", "r0=0 r1=0", True, "8.10.3"),
    ("RMW+manual-1", "atom.sys.add r0, x, 1 | atom.sys.add r1, x, 1", "grid", "r0=0 r1=0", False, "8.10.3"),
    ("MP+red+fence.acquire", "st.weak x, 42; st.release.gpu y, 1 | red.sys.add y, 1; fence.acquire.gpu; ld.weak r1, x", "grid", "r1=0 y=2", True, "8.11.1"),
    ("MP+atom+fence.acquire", "st.weak x, 42; st.release.gpu y, 1 | atom.sys.add r0, y, 1; fence.acquire.gpu; ld.weak r1, x", "grid", "r1=0 y=2", False, "8.11.1"),
    ("MP+narrow-writer", "st.weak x, 1; st.release.cta y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "grid", "r0=1 r1=0", True, "8.7"),
    ("MP+narrow-reader", "st.weak x, 1; st.release.gpu y, 1 | ld.acquire.cta r0, y; ld.weak r1, x", "grid", "r0=1 r1=0", True, "8.7"),
    ("MP+narrow-fence", "st.weak x, 1; fence.acq_rel.cta; st.relaxed.gpu y, 1 | ld.relaxed.gpu r0, y; fence.acq_rel.gpu; ld.weak r1, x", "grid", "r0=1 r1=0", True, "8.9.4"),
    ("MP+narrow-flag", "st.weak x, 1; fence.acq_rel.gpu; st.relaxed.cta y, 1 | ld.relaxed.gpu r0, y; fence.acq_rel.gpu; ld.weak r1, x", "grid", "r0=1 r1=0", True, "8.9.2"),
    ("MP+mixed-scopes", "st.weak x, 1; fence.acq_rel.sys; st.relaxed.gpu y, 1 | ld.relaxed.sys r0, y; fence.acq_rel.gpu; ld.weak r1, x", "grid", "r0=1 r1=0", False, "8.7"),
    ("MP+bridge", "st.weak x, 1; st.release.cta y, 1 | atom.acq_rel.gpu.add r2, y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "bridge", "r2=1 r0=2 r1=0", False, "8.9.5"),
    ("MP+bridge-without-release", "st.weak x, 1; st.release.cta y, 1 | atom.acquire.gpu.add r2, y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "bridge", "r2=1 r0=2 r1=0", True, "8.9.5"),
    ("MP+barrier", "st.weak x, 1; bar | bar; ld.weak r0, x", "block", "r0=0", False, "8.9.4"),
    ("MP+barrier-then-write", "ld.weak r0, x; bar | bar; st.weak x, 1", "block", "r0=1", False, "8.10.6"),
    ("MP+barrier-cumulative", "st.weak x, 1; bar | bar; st.release.gpu y, 1", "block", "x=0", False, "8.9.5"),
]

# fmt: on


def rows() -> list[Row]:
    """All rows, for each scope and placement."""
    found = []
    for placement in NEEDED:
        for scope in SCOPES:
            for name, text, outcome, section in FORBIDDEN_IN_SCOPE:
                allowed = not suffices(scope, placement)
                found.append(
                    Row(f"{name}-{scope}", text.replace(".S", f".{scope}"), placement, outcome, allowed, section)
                )
            for name, text, outcome, verdict, section in ALWAYS:
                if ".S" in text or scope == "cta":
                    label = f"{name}-{scope}" if ".S" in text else name
                    found.append(Row(label, text.replace(".S", f".{scope}"), placement, outcome, verdict, section))
    return found + [Row(*row) for row in FIXED]
