"""The hosts: types, prices, stock; from a TOML file, or assumed with a warning."""

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
"""Default prices per GiB: DRAM costs five times NVM per bit (X-Mem, EuroSys 2016)."""


class TypeText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One ``[types.NAME]``."""

    cpu_model: str = "*"
    """Hosts whose processor's name matches this pattern."""
    host: str = "*"
    """Hosts whose name matches this pattern too."""
    count: int | None = None
    """Number of hosts. Default: those that profiles came from."""
    memory: str | None = None
    """Memory of one host, such as 512GiB. Default: the data of all its profiles together."""
    near: str | None = None
    """Near memory: a file of `nearfar measure` or a device. Default: --near."""
    near_price_per_gib: float | None = None
    """Default: `[prices]`."""
    most_far: float = 1.0
    """Largest share of a host's memory that can be far: the capacity of its slots."""


class PricesText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``[prices]``."""

    near_per_gib: float = NEAR_PRICE
    far_per_gib: float = FAR_PRICE
    adapter: float = 0.0
    """Price per host with far memory: cards, cables, slots."""
    currency: str = ""


class StockText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``[stock]``: available far memory."""

    far: str | None = None
    """Far memory for the whole fleet, such as 40TiB."""
    adapters: int | None = None
    """Hosts that can be converted."""


class HostsFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file of hosts."""

    types: dict[str, TypeText] = {}
    prices: PricesText = msgspec.field(default_factory=PricesText)
    stock: StockText = msgspec.field(default_factory=StockText)

    def type_of(self, host: str, cpu_model: str) -> str:
        """Return the first type that a host matches; its processor's name where there are none."""
        for name, host_type in self.types.items():
            if fnmatch.fnmatchcase(cpu_model, host_type.cpu_model) and fnmatch.fnmatchcase(
                host, host_type.host
            ):
                return name
        return "" if self.types else cpu_model

    def text_of(self, name: str) -> TypeText:
        """Return the entry of a type."""
        return self.types.get(name) or TypeText()

    def stock_bytes(self) -> float:
        """Return the available far memory, bytes; infinite by default."""
        return math.inf if self.stock.far is None else float(parse_size_bytes(self.stock.far))


def read_hosts(path: Path | None) -> HostsFile:
    """Read the file and refuse prices that allow no answer."""
    if path is None:
        return HostsFile()
    try:
        hosts = msgspec.convert(
            tomllib.loads(read_bytes(path, "the file of hosts").decode()), HostsFile
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise NearfarError(f"{path}: {error}") from error
    _check(path, hosts)
    return hosts


def _check(path: Path, hosts: HostsFile) -> None:
    prices = hosts.prices
    nears = [("prices", prices.near_per_gib)]
    nears += [
        (f"types.{name}", host_type.near_price_per_gib)
        for name, host_type in hosts.types.items()
        if host_type.near_price_per_gib is not None
    ]
    for where, price in nears:
        if price == 0:
            raise NearfarError(
                f"{path}: near memory costs 0 in [{where}], so less of it saves nothing: write its "
                "price"
            )
    numbers = [*nears, ("prices", prices.far_per_gib), ("prices", prices.adapter)]
    for where, price in numbers:
        if not (math.isfinite(price) and price >= 0):
            raise NearfarError(f"{path}: a price in [{where}] is {price:g}; it must be 0 or more")
    if hosts.stock.far is not None:
        parse_size_bytes(hosts.stock.far)
    if hosts.stock.adapters is not None and hosts.stock.adapters < 0:
        raise NearfarError(f"{path}: adapters is {hosts.stock.adapters}; it must be 0 or more")
    for name, host_type in hosts.types.items():
        if host_type.count is not None and host_type.count < 0:
            raise NearfarError(
                f"{path}: count of type {name} is {host_type.count}; it must be 0 or more"
            )
        if host_type.memory is not None and parse_size_bytes(host_type.memory) == 0:
            raise NearfarError(f"{path}: memory of type {name} is 0: write its size")
        if not 0.0 <= host_type.most_far <= 1.0:
            raise NearfarError(
                f"{path}: most_far of {name} must be a share from 0 to 1, not "
                f"{host_type.most_far:g}"
            )


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Return slowdown limits by their text, in ascending order."""
    limits: dict[str, float] = {}
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 1.0):
            raise NearfarError(
                f"--slo {text} is no slowdown: 1.10 allows 10 % more time than all near"
            )
        limits[text] = value
    return dict(sorted(limits.items(), key=lambda item: item[1]))
