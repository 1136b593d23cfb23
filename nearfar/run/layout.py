"""Tables and messages that the verb and the preloaded library share, as in native/run/table.h."""

from __future__ import annotations

import ctypes

MAGIC = b"NFRUN\0\0"
VERSION = 10
VARIABLE = "NEARFAR_RUN_PLACES"
"""Environment variable with the run folder; without it the library does nothing."""
MEMORIES, TARGETS, PARTS, EXTENTS, MAPPED, FRAMES, USERS = 16, 48, 8, 16384, 1024, 8, 256
ANSWERS = 16384
RANGES, FILES, FILE_NAME_BYTES = 2048, 16, 252

DEFAULT, NODE, FILE, DEVICE, LOCKED, PAGED = range(6)
SINGLE, INTERLEAVE, IN_PARTS, IN_RANGES = range(4)
HELLO, STACK, GROWN, BYE, CANNOT = 1, 2, 3, 4, 5

PAGE = 4096
PAGE_FACTOR = 0x9E3779B97F4A7C15
PAGE_BITS = 3
"""One page in 2^3 is sampled."""
NO_OBJECT = 0xFFFF
NO_POSITION = (1 << 64) - 1
CHOSEN = 1 << 31
"""Bit in a page's word: the page begins a sampled block and stands for `CHOSEN_BYTES`."""
CHOSEN_BYTES = 512 << 10
"""Allocated bytes per sampled block; large ones stand for more (native/run/shadow.cpp)."""

SLOT_BITS, NEAR_SLOTS = 40, 8
FIRST_ADDRESS = 1 << 44
END_ADDRESS = FIRST_ADDRESS + ((NEAR_SLOTS + TARGETS - 1) << SLOT_BITS)
"""Range of the blocks' addresses: eight slots of 1 TiB for near, then one for each target."""


class TableMemory(ctypes.Structure):
    """struct nf_run_memory."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("node", ctypes.c_int32),
        ("near_nodes", ctypes.c_uint64),
        ("near_mode", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("capacity_bytes", ctypes.c_uint64),
        ("used_bytes", ctypes.c_uint64),
        ("size_bytes", ctypes.c_uint64),
        ("path", ctypes.c_char * 232),
    )


class Target(ctypes.Structure):
    """struct nf_run_target."""

    _fields_ = (
        ("style", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("memory", ctypes.c_uint32 * PARTS),
        ("weight", ctypes.c_uint32 * PARTS),
        ("first_range", ctypes.c_uint32),
        ("range_count", ctypes.c_uint32),
    )


class Range(ctypes.Structure):
    """struct nf_run_range."""

    _fields_ = (
        ("end", ctypes.c_uint64),
        ("memory", ctypes.c_uint32),
        ("apart", ctypes.c_uint32),
    )


class File(ctypes.Structure):
    """struct nf_run_file."""

    _fields_ = (
        ("name", ctypes.c_char * FILE_NAME_BYTES),
        ("object", ctypes.c_uint16),
        ("target", ctypes.c_uint16),
    )


class User(ctypes.Structure):
    """struct nf_run_user."""

    _fields_ = (
        ("pid", ctypes.c_int32),
        ("unused", ctypes.c_uint32),
        ("used_bytes", ctypes.c_uint64 * MEMORIES),
    )


class SharedAnswer(ctypes.Structure):
    """struct nf_run_shared."""

    _fields_ = (
        ("key", ctypes.c_uint64),
        ("object", ctypes.c_uint16),
        ("target", ctypes.c_uint16),
        ("alike", ctypes.c_uint32),
    )


class Table(ctypes.Structure):
    """struct nf_run_table."""

    _fields_ = (
        ("magic", ctypes.c_char * 8),
        ("version", ctypes.c_uint32),
        ("memory_count", ctypes.c_uint32),
        ("target_count", ctypes.c_uint32),
        ("split_sizes", ctypes.c_uint32),
        ("huge_pages", ctypes.c_uint32),
        ("heap_target", ctypes.c_uint32),
        ("adapts", ctypes.c_uint32),
        ("process_count", ctypes.c_uint32),
        ("fullest_pages", ctypes.c_uint32),
        ("memories", TableMemory * MEMORIES),
        ("targets", Target * TARGETS),
        ("users", User * USERS),
        ("answers", SharedAnswer * ANSWERS),
        ("ranges", Range * RANGES),
        ("file_count", ctypes.c_uint32),
        ("answers_used", ctypes.c_uint32),
        ("files", File * FILES),
    )


class Extent(ctypes.Structure):
    """struct nf_run_extent."""

    _fields_ = (
        ("begin", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("target", ctypes.c_uint32),
        ("memory", ctypes.c_uint32),
        ("position", ctypes.c_uint64),
    )


class Mapped(ctypes.Structure):
    """struct nf_run_mapped."""

    _fields_ = (
        ("begin", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("target", ctypes.c_uint32),
        ("object", ctypes.c_uint32),
        ("position", ctypes.c_uint64),
    )


class State(ctypes.Structure):
    """struct nf_run_state of native/run/table.h, which describes the fields."""

    _fields_ = (
        ("magic", ctypes.c_char * 8),
        ("first_address", ctypes.c_uint64),
        ("shadow", ctypes.c_uint64),
        ("sampled_pages", ctypes.c_uint64),
        ("heap_bytes", ctypes.c_uint64),
        ("stacks_asked", ctypes.c_uint64),
        ("stacks_unanswered", ctypes.c_uint64),
        ("foreign_frees", ctypes.c_uint64),
        ("bind_failures", ctypes.c_uint64),
        ("advice_failures", ctypes.c_uint64),
        ("lock_failures", ctypes.c_uint64),
        ("bind_errno", ctypes.c_uint32),
        ("advice_errno", ctypes.c_uint32),
        ("lock_errno", ctypes.c_uint32),
        ("extents_lost", ctypes.c_uint32),
        ("extent_count", ctypes.c_uint32),
        ("fallback_bytes", ctypes.c_uint64 * TARGETS),
        ("mapped_count", ctypes.c_uint32),
        ("files_refused", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("mapped", Mapped * MAPPED),
        ("extents", Extent * EXTENTS),
    )


class LibraryRequest(ctypes.Structure):
    """struct nf_run_ask."""

    _fields_ = (
        ("message", ctypes.c_uint32),
        ("pid", ctypes.c_int32),
        ("state", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("mapped", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("frames", ctypes.c_uint64 * FRAMES),
        ("tag", ctypes.c_char * 64),
    )


class LibraryAnswer(ctypes.Structure):
    """struct nf_run_answer."""

    _fields_ = (
        ("object", ctypes.c_uint16),
        ("target", ctypes.c_uint16),
        ("depth", ctypes.c_uint32),
        ("alike", ctypes.c_uint32),
    )
