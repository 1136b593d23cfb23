"""What is known of the hosts: types, prices, stock; as a TOML file, or assumed and said."""

from __future__ import annotations

import fnmatch
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.base.units import parse_size_bytes

GIB = float(1 << 30)

NEAR_PRICE, FAR_PRICE = 5.0, 1.0
"""Per GiB, where no prices are given: DRAM costs five times NVM per bit (X-Mem, EuroSys 2016)."""


class TypeText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One ``[types.NAME]``."""

    cpu_model: str = "*"
    """Hosts whose processor's name matches this pattern."""
    host: str = "*"
    """And whose own name matches this one."""
    count: int | None = None
    """How many there are. Default: those that profiles came from."""
    memory: str | None = None
    """Of one host, such as 512GiB. Default: what its programs' data take, all profiles together."""
    near: str | None = None
    """Its memory: a file of `nearfar measure` or a device. Default: --near."""
    near_price_per_gib: float | None = None
    """Default: `[prices]`."""
    most_far: float = 1.0
    """Of a host's memory, the most that can be far: what its slots hold."""


class PricesText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``[prices]``."""

    near_per_gib: float = NEAR_PRICE
    far_per_gib: float = FAR_PRICE
    adapter: float = 0.0
    """Per host with far memory: cards, cables, slots."""
    currency: str = ""


class StockText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``[stock]``: what can be had."""

    far: str | None = None
    """Far memory for the whole fleet, such as 40TiB."""
    adapters: int | None = None
    """Hosts that can be converted."""


class HostsFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    types: dict[str, TypeText] = {}
    prices: PricesText = msgspec.field(default_factory=PricesText)
    stock: StockText = msgspec.field(default_factory=StockText)

    def type_of(self, host: str, cpu_model: str) -> str:
        """Return the first type that a host matches; its processor's name where there are none."""
        for name, one in self.types.items():
            if fnmatch.fnmatchcase(cpu_model, one.cpu_model) and fnmatch.fnmatchcase(
                host, one.host
            ):
                return name
        return "" if self.types else cpu_model

    def text_of(self, name: str) -> TypeText:
        """Return what is said of a type."""
        return self.types.get(name) or TypeText()

    def stock_bytes(self) -> float:
        """Return how much far memory can be had; infinite where nothing is said."""
        return math.inf if self.stock.far is None else float(parse_size_bytes(self.stock.far))


def read_hosts(path: Path | None) -> HostsFile:
    """Read the file and refuse prices with which nothing can be said."""
    if path is None:
        return HostsFile()
    try:
        found = msgspec.convert(
            tomllib.loads(read_bytes(path, "the file of hosts").decode()), HostsFile
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path} is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise NearfarError(f"{path}: {error}") from error
    _check(path, found)
    return found


def _check(path: Path, found: HostsFile) -> None:
    prices = found.prices
    nears = [("prices", prices.near_per_gib)]
    nears += [
        (f"types.{name}", one.near_price_per_gib)
        for name, one in found.types.items()
        if one.near_price_per_gib is not None
    ]
    for where, price in nears:
        if price == 0:
            raise NearfarError(
                f"{path}: near memory costs 0 in [{where}], so nothing can be saved by having less "
                "of it: write what it costs"
            )
    numbers = [*nears, ("prices", prices.far_per_gib), ("prices", prices.adapter)]
    for where, price in numbers:
        if not (math.isfinite(price) and price >= 0):
            raise NearfarError(f"{path}: a price in [{where}] is {price:g}: it is 0 or more")
    if found.stock.far is not None:
        parse_size_bytes(found.stock.far)
    if found.stock.adapters is not None and found.stock.adapters < 0:
        raise NearfarError(f"{path}: there are {found.stock.adapters} adapters: 0 or more")
    for name, one in found.types.items():
        if one.count is not None and one.count < 0:
            raise NearfarError(f"{path}: there are {one.count} hosts of type {name}: 0 or more")
        if one.memory is not None and parse_size_bytes(one.memory) == 0:
            raise NearfarError(f"{path}: hosts of type {name} have no memory: write its size")
        if not 0.0 <= one.most_far <= 1.0:
            raise NearfarError(
                f"{path}: most_far of {name} is a share from 0 to 1, not {one.most_far:g}"
            )


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Return slowdown limits by how they were typed, rising."""
    found: dict[str, float] = {}
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 1.0):
            raise NearfarError(
                f"--slo {text} is no slowdown: 1.10 is at most 10 % slower than all near"
            )
        found[text] = value
    return dict(sorted(found.items(), key=lambda item: item[1]))
