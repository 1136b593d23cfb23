"""Walks a trace once for all lints, and groups what they met."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.images import Images
from nearfar.crash.lints.layout import LayoutChanged
from nearfar.crash.lints.leaks import Leaks
from nearfar.crash.lints.persist import Needless, NeverDurable
from nearfar.crash.lints.pointers import VolatilePointers
from nearfar.crash.lints.root import RootOverwritten
from nearfar.crash.lints.transactions import Transactions
from nearfar.crash.lints.unpersisted import unpersisted
from nearfar.crash.lints.whose import Whose, is_copy, is_users
from nearfar.crash.lints.world import World
from nearfar.crash.sites import Sites, users
from nearfar.crash.trace import Event, Trace
from nearfar.crash.unseen import unseen
from nearfar.documents.crash_report import CrashLint

_FLUSHES = ("flushed twice", "flushed unmodified")


class _Watcher(Protocol):
    def feed(self, event: Event, world: World) -> Iterator[Finding]: ...
    def finish(self, world: World) -> Iterator[Finding]: ...


def lints_of(
    trace: Trace,
    sites: Sites,
    images: Images | None = None,
    *,
    eadr: bool = False,
    ended: bool = True,
    pool: Path | None = None,
) -> tuple[list[CrashLint], str]:
    """Return each kind once per place of the program, most frequent first, and a warning or "".

    `images`: what can write an image of the pool and look at it; without it only what the trace
    tells is told. With caches that survive (`eadr`) flushes are nobody's concern. `ended`: the
    program came to its end, so that what it still holds by no handle is lost. `pool`: as the run
    left it, to be compared with what was seen of it, which is what the warning is about.
    """
    world, whose = World(trace), Whose(sites)
    if images is not None:
        world.held(images.before())
    durable = NeverDurable(world)
    flushes: list[_Watcher] = [] if eadr else [durable, Needless(world)]
    watchers: list[_Watcher] = [
        *flushes,
        Transactions(world, whose),
        VolatilePointers(world),
        LayoutChanged(world),
        RootOverwritten(world, images),
    ]
    met: list[Finding] = []
    for event in trace.events:
        world.feed(event)
        for watcher in watchers:
            met += watcher.feed(event, world)
    for watcher in watchers:
        met += watcher.finish(world)
    if images is not None and not eadr:
        told = any(one.kind == "root overwritten" for one in met)
        met += Leaks(trace, images, world, whose).find(ended=ended and not told)
        met += unpersisted(trace, images, durable.memory)
    missed = unseen(world, pool) if pool is not None and not trace.full else ""
    return _grouped(met, sites), missed


def _grouped(met: list[Finding], sites: Sites) -> list[CrashLint]:
    sites.learn([one.stack for one in met])
    groups: dict[object, CrashLint] = {}
    for one in met:
        frames = sites.frames(one.stack) if one.stack else []
        if frames and not is_users(frames, flush=one.kind in _FLUSHES):
            continue  # libpmemobj's affair: what it skips, its recovery knows of
        if one.kind in _FLUSHES and is_copy(frames):
            continue  # it flushes what it copies, whether that changed or not
        user = users(frames)
        key = (one.kind, user and (user.function, user.file, user.line))
        if key not in groups:
            groups[key] = CrashLint(
                kind=one.kind,
                times=0,
                offset=one.offset,
                frames=frames,
                note=one.note,
                object=one.object,
            )
        groups[key].times += 1
    return sorted(groups.values(), key=lambda lint: -lint.times)
