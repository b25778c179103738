"""Write docs/papers.md from papers.md.jinja and the tables that overnight.py left, from which all its figures come.

python examples/papers/page.py docs/papers
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from overnight import VARIABLES, command, files_of

STARTS = ["uniform", "labels"]
TEMPLATE = Path(__file__).parent / "papers.md.jinja"


class Tables:
    """The tables of the studies in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.read = folder, dict[str, pd.DataFrame]()

    def has(self, study: str) -> bool:
        """Return whether a study was run to its end."""
        return files_of(study, self.folder)[-1].exists()

    def rows(self, study: str, **where: Any) -> pd.DataFrame:
        """Return the rows of a study whose columns have some values; of uniform starts, if nothing else is said."""
        if study not in self.read:
            self.read[study] = pd.read_csv(self.folder / f"{study}.csv")
        table = self.read[study]
        if "start" in table:
            where = {"start": "uniform", **where}
        for column, value in where.items():
            table = table[table[column].isin(value if isinstance(value, list) else [value])]
        if table.empty:
            raise SystemExit(f"{study}.csv has no row with {where}")
        return table

    def value(self, study: str, measure: str, **where: Any) -> float:
        """Return the mean of a measure over seeds, NaN where a chain lacks it."""
        return float(self.rows(study, **where)[measure].mean(skipna=False))

    def mean(self, study: str, measure: str, digits: int = 3, **where: Any) -> str:
        """Return the mean of a measure over seeds, in writing."""
        return _cell(self.value(study, measure, **where), float("nan"), digits)

    def over(self, study: str, measure: str, one: dict[str, Any], other: dict[str, Any], **where: Any) -> str:
        """Return a mean over another one, in writing."""
        return f"{self.value(study, measure, **where, **one) / self.value(study, measure, **where, **other):.2g}"

    def median(self, study: str, measure: str, digits: int = 2, **where: Any) -> str:
        """Return the median of a measure over rows, in writing."""
        return f"{self.rows(study, **where)[measure].median():,.{digits}f}"

    def correlation(self, study: str, one: str, other: str, **where: Any) -> str:
        """Return the rank correlation of two measures, in writing."""
        rows = self.rows(study, **where)
        return f"{rows[one].corr(rows[other], method='spearman'):.2f}"

    def pivot(self, study: str, measure: str, down: str, across: str, digits: int = 3, **where: Any) -> str:
        """Return a table of means over seeds, with standard deviations."""
        groups = self.rows(study, **where).groupby([down, across], sort=False)[measure].agg([_mean, "std"])
        cells = groups.apply(lambda row: _cell(row["_mean"], row["std"], digits), axis=1).unstack(across)
        lines = [[down, *map(_head, cells.columns)], ["---", *["---:"] * len(cells.columns)]]
        lines += [[_head(name), *row] for name, row in zip(cells.index, cells.fillna("").to_numpy(), strict=True)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def beside(self, columns: dict[str, tuple[str, str]], digits: int = 3) -> str:
        """Return a table of measures of several studies, from any start, with a row for each line that they share."""
        lines = list(
            dict.fromkeys(line for study, _ in columns.values() for line in self.rows(study, start=STARTS)["line"])
        )
        rows = [["", *columns], ["---", *["---:"] * len(columns)]]
        for line in lines:
            found = (self.rows(study, start=STARTS, line=line)[measure] for study, measure in columns.values())
            rows.append([line, *(_cell(_mean(values), values.std(), digits) for values in found)])
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _mean(values: pd.Series[float]) -> float:
    return float(values.mean(skipna=False))


def _cell(mean: float, deviation: float, digits: int) -> str:
    if pd.isna(mean):
        return "not reached"
    return f"{mean:,.{digits}f}" + ("" if pd.isna(deviation) else f" ± {deviation:.{digits}f}")


def _head(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Write the page beside the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the tables and figures; the page has its name, with .md")
    folder = parser.parse_args().folder
    tables = Tables(folder)
    names = {
        name: getattr(tables, name)
        for name in ("has", "value", "mean", "median", "over", "correlation", "pivot", "beside")
    }
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    page = environment.from_string(TEMPLATE.read_text()).render(
        **names, command=command, variables=VARIABLES, folder=folder.name
    )
    # What is left out leaves empty lines.
    folder.with_suffix(".md").write_text(re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n")


if __name__ == "__main__":
    main()
