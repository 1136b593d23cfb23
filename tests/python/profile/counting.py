"""Programs with a run-time library that counts the reports of each site."""

from __future__ import annotations

from pathlib import Path

from compiling import CLASSES, Site, driver_of, nearfar, run

from nearfar.native_files import include_folder


class Counts:
    """Compiles and runs a program with the counting library."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = library
        self.folder = folder

    def of(
        self, source: Path, *options: str, arguments: tuple[str, ...] = (), traced: bool = True
    ) -> list[Site]:
        """Return each site of `source` with its reports."""
        program = self.folder / "program"
        nearfar(
            driver_of(source),
            "-O2",
            *options,
            f"-I{include_folder()}",
            source,
            "-o",
            program,
            cwd=self.folder,
        )
        output = self.folder / "counts"
        code, _ = run(
            program,
            *arguments,
            env={
                "LD_LIBRARY_PATH": str(self.library),
                "COUNTING_RUNTIME_OUTPUT": str(output),
                **({} if traced else {"COUNTING_RUNTIME_INERT": "1"}),
            },
        )
        assert code == 0
        sites = []
        for line in output.read_text().splitlines():
            function, file, fields, *numbers = line.split("\t")
            place, size, operation, access_class, per_line, count = map(int, numbers)
            sites.append(
                Site(
                    *(function, file, place, size, operation, CLASSES[access_class]),
                    *(per_line, count, fields),
                )
            )
        return sites

    def of_text(self, text: str, *options: str, language: str = "c") -> list[Site]:
        """Return each site of the program `text` with its reports."""
        source = self.folder / f"text.{'cpp' if language == 'c++' else 'c'}"
        source.write_text(text)
        return self.of(source, *options)
