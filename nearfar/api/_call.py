"""How API functions are called: with an options object, or with its fields as keywords."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from nearfar.options.option import check_names

P = ParamSpec("P")
OptionsT = TypeVar("OptionsT")
ResultT = TypeVar("ResultT")


class ApiFunction(Generic[P, OptionsT, ResultT]):
    """A function of one options object that can also be called with the options as keywords."""

    def __init__(self, options: Callable[P, OptionsT], run: Callable[[OptionsT], ResultT]) -> None:
        functools.update_wrapper(self, run)
        self.options: Any = options
        self._run = run

    @overload
    def __call__(self, options: OptionsT, /) -> ResultT: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ResultT: ...
    def __call__(self, *args: Any, **kwargs: Any) -> ResultT:
        """Run with an options object, or with options made from keywords; raise NearfarError."""
        if args:
            (options,) = args
            if kwargs or not isinstance(options, self.options):
                raise TypeError(
                    f"{self.__name__}() takes one {self.options.__name__}, or its fields as "
                    "keywords"
                )
            return self._run(options)
        check_names(self.options, list(kwargs))
        return self._run(self.options(**kwargs))

    __name__: str


def api_function(
    options: Callable[P, OptionsT],
) -> Callable[[Callable[[OptionsT], ResultT]], ApiFunction[P, OptionsT, ResultT]]:
    """Return a decorator: a function of `options` also accepts their fields as keywords."""
    return lambda run: ApiFunction(options, run)
