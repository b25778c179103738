"""Make the tables of benchmarks/README.md, and the one of README.md, from the figures in benchmarks/results.

    python benchmarks/tables.py            # print them
    python benchmarks/tables.py --write    # put them into the pages (make bench-tables)

Each line of a file in results/ is one figure. Where a figure was measured several times, the last line counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PAGE, FRONT, RESULTS = HERE / "README.md", HERE.parent / "README.md", HERE / "results"
BEGIN, END = "<!-- tables: made by tables.py -->\n", "<!-- end of tables -->\n"
WIDEST = 6
"""Columns that a phone can show."""

QUESTIONS = {
    "How fast is a sweep of LDA?": "Sweeps 41 to 50; at K = 1,000 with 2 threads, the first 200.",
    "How fast is LDA, all that is recorded counted?": "`pt.sample` with its defaults, timed from outside.",
    "How soon is LDA as good as tomotopy?": "The seconds until it has the log p(w, z) / N that tomotopy ends with.",
    "Which kernel is furthest after 25 seconds?": "All start from the same random topics.",
    "How many sweeps does a kernel take to the mode?": "Within 1% of the best. Chosen: by the scheduler.",
    "Which kernel is first at the mode?": "Seconds of `block_collapsed` over `partially_collapsed`, by threads.",
    "How long does a newcomer wait?": "Four chains, and their topics as a figure, in an empty environment.",
    "Which warm-up leads to better modes?": "Four chains each; a warm-up of so many sweeps, then 50 draws.",
    "Are moves between modes accepted?": "From where a chain is after so many sweeps of a plain warm-up.",
    "How fast are the topics of new documents found?": "`fit.transform`; quality by half of each document.",
    "How fast are new documents classified, and how well?": "`fit.predict` by both methods.",
    "How much memory does LDA take?": "At most, beside Python and the corpus.",
    "How does LDA scale with the corpus?": "Early sweeps, from random topics.",
    "How much faster can a sweep of LDA be with more threads?": "By what is serial, the longest tasks, and bytes.",
    "How good are the forecasts of a sweep?": "1 is perfect. The formula of `partially_collapsed` was refitted since.",
    "How good are the forecasts of memory?": "1 is perfect.",
    "How fast is a corpus simulated?": "",
    "How fast are sweeps on a GPU, and on the CPU beside it?": "The rate is that of the kernel of z alone.",
    "What does it cost to spread one chain over workers?": "On one machine, where workers share its cores. Simulated.",
    "What does LDA know after so many seconds?": "On two workers. Held-out is the fair column: see The peers.",
    "How fast is a supervised model trained, and how well does it predict?": "`medlda`: 2 + 6 sweeps; two classes: 20.",
    "How fast is DOLDA, and how well does it predict?": "Java ran on the same documents. Ours started by label.",
    "Which supervised model predicts best?": "200 sweeps from a start by label, of which the last 100 predict.",
    "Are proposals better drawn at random, or taken in turn?": "`medlda_light`, uniform start, 60 sweeps, 3 seeds.",
    "How well are ratings predicted?": "10 sweeps of Gibbs sampling.",
    "How does a supervised model scale with documents?": "",
    "How does a supervised model scale with classes?": "Beyond 20 classes, documents are dealt to them at random.",
    "What do covariates above the topics cost?": "By class; in rows, by a number too. tomotopy: every tenth sweep.",
    "What does a block add to a sweep?": "By class, keywords of ten classes, and the length of a document.",
    "How do other models compare with tomotopy's?": "By class: DMR, and labels, whose likelihood is given the class.",
    "What do classes and whole documents do for topics?": "The likelihood is that of words alone, classes not known.",
    "How sparse are spike-and-slab topics?": "After 150 sweeps.",
    "What does it save to store topics as lists?": "`lda_spike_slab`; memory beside Python and the corpus.",
    "How fast are held-out likelihoods?": "Left to right: 128 particles, 4 moves. Completion: 4 chains of 120 sweeps.",
    "How inefficient are draws of each kernel?": "The mean inefficiency factor: draws for one independent draw.",
    "What do checks for non-finite numbers cost?": "",
    "How much memory do draws take?": "The largest resident memory of the process.",
    "What does it cost to run in a folder?": "",
    "Does alignment repair R-hat?": "The median over topics of the R-hat of their ten top words.",
    "How fast are ESS and R-hat?": "4 chains of 500 draws.",
    "How fast are coherences?": "Topics of 10 words. `topic_map`: 31,910 words.",
}
"""Headings in the order of the page, and what a reader must know beside the table."""

HIGHLIGHTS = {
    "How fast is LDA, all that is recorded counted?": "a sweep of LDA, with all that is recorded",
    "How soon is LDA as good as tomotopy?": "LDA, until as good as 200 sweeps of theirs",
    "How fast are the topics of new documents found?": "topics of new documents",
    "How fast is DOLDA, and how well does it predict?": "a sweep of DOLDA",
    "How fast are ESS and R-hat?": "ESS and R-hat",
    "How fast are coherences?": "coherence",
}
"""Questions whose ratios to peers the front page quotes, and what it calls them."""

SEVERAL = ("coherence", "topics of new documents", "LDA, until as good as 200 sweeps of theirs")
"""What several programs of ours do."""

OTHERS = ("semi_collapsed", "sparse_partially_collapsed")
"""Kernels that the front page leaves out: the scheduler chooses `block_collapsed`."""

Record = dict[str, Any]


class Column(NamedTuple):
    """A column of figures: the measure, and the field of its records; for a ratio, the peer."""

    head: str
    measure: str
    field: str
    peer: str = ""

    def cell(self, record: Record | None) -> str:
        """Return the figure of a record, or nothing where there is none."""
        value = None if record is None else record["ratios"].get(self.peer) if self.peer else record[self.field]
        return "" if value is None else number(value)


def read(folder: Path = RESULTS) -> list[Record]:
    """Read all figures, without those that were measured again later."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    found = (json.loads(line) for line in lines)
    return list({(r["question"], row_of(r), r["measure"]): r for r in found}.values())


def row_of(record: Record) -> tuple[Any, ...]:
    """Return what identifies a row of a table: the setting and the program."""
    return (*sorted(record["setting"].items()), record["program"])


def number(value: float) -> str:
    """Write a figure with at most four digits, more before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def section(question: str, records: list[Record]) -> str:
    """Return a heading, the tables and the commands of one question."""
    names = list(dict.fromkeys(name for record in records for name in record["setting"]))
    constant, varying = [], []
    for name in names:
        values = {str(record["setting"].get(name, "")) for record in records}
        (constant if len(values) == 1 else varying).append(name)
    setting = ", ".join(spell(name, records[0]["setting"][name]) for name in constant)
    about = " ".join(
        part for part in (QUESTIONS[question], f"{setting[:1].upper()}{setting[1:]}." if setting else "") if part
    )
    columns = columns_of(records)
    programs = {record["program"] for record in records}
    whole = len(varying) + (len(programs) > 1) + len(columns) <= WIDEST
    measures = [{c.measure for c in columns}] if whole else [{m} for m in dict.fromkeys(c.measure for c in columns)]
    tables = [table(records, varying, [c for c in columns if c.measure in chosen]) for chosen in measures]
    return "\n".join([f"### {question}\n", *([f"{about}\n"] if about else []), *tables, commands(records)])


def spell(name: str, value: Any) -> str:
    """Say one part of a setting in words."""
    text = number(value) if isinstance(value, int | float) else str(value)
    if name in ("corpus", "model"):
        return text
    return (
        f"{name} = {text}" if len(name) == 1 or name == "inclusion" else f"{text} {name[:-1] if value == 1 else name}"
    )


def columns_of(records: list[Record]) -> list[Column]:
    """Return the columns of figures: each measure, its range where one is known, and ratios to peers."""
    result = []
    for measure in dict.fromkeys(record["measure"] for record in records):
        own = [record for record in records if record["measure"] == measure]
        result.append(Column(measure, measure, "median"))
        if any(record["min"] not in (None, record["median"]) for record in own):
            result += [Column("min", measure, "min"), Column("max", measure, "max")]
        for peer in dict.fromkeys(peer for record in own for peer in record["ratios"]):
            result.append(Column(f"over {peer}", measure, "ratios", peer))
    return result


def table(records: list[Record], varying: list[str], columns: list[Column]) -> str:
    """Return one table: a row for each setting and program."""
    rows: dict[tuple[Any, ...], dict[str, Record]] = {}
    for record in records:
        if record["measure"] in {column.measure for column in columns}:
            rows.setdefault(row_of(record), {})[record["measure"]] = record
    programs = {record["program"] for record in records}
    lines = [[*varying, *(["program"] if len(programs) > 1 else []), *(column.head for column in columns)]]
    lines.append(["---:" if name != "program" and name not in ("corpus", "model") else "---" for name in lines[0]])
    for found in sorted(rows.values(), key=lambda row: order(next(iter(row.values())), varying)):
        one = next(iter(found.values()))
        values = [one["setting"].get(name, "") for name in varying]
        cells = [number(value) if isinstance(value, int | float) else str(value) for value in values]
        cells += [one["program"]] if len(programs) > 1 else []
        lines.append([*cells, *(column.cell(found.get(column.measure)) for column in columns)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def order(record: Record, varying: Iterable[str]) -> list[Any]:
    """Sort rows by their settings, numbers as numbers, and leave programs as they were measured."""
    values = [record["setting"].get(name, 0) for name in varying]
    return [(isinstance(value, str), value) for value in values]


def commands(records: list[Record]) -> str:
    """Return what to run for the figures, and where and at which commit they were measured."""
    lines = [f"```sh\n{chr(10).join(dict.fromkeys(record['command'] for record in records))}\n```\n"]
    where = {}
    for record in records:
        note = f"; {record['note']}" if record.get("note") else ""
        where[f"commit {record['commit']}, {record['date']}, {machine(record['machine'])}{note}"] = None
    return "\n".join([*lines, *(f"Measured at {text}.\n" for text in where)]).replace(
        "commit unknown, unknown", "an earlier commit"
    )


def machine(about: dict[str, Any]) -> str:
    """Return the machine in a few words."""
    load = "" if about["load"] is None else f", load {about['load']}"
    return f"{about['processor']} ({about['cores']} cores{load})"


def page_of(records: list[Record]) -> str:
    """Return all sections in the order of `QUESTIONS`."""
    unknown = {record["question"] for record in records} - QUESTIONS.keys()
    if unknown:
        raise SystemExit(f"tables.py: add to QUESTIONS: {sorted(unknown)}")
    by_question = {name: [record for record in records if record["question"] == name] for name in QUESTIONS}
    return "\n".join(section(name, found) for name, found in by_question.items() if found)


def left_out(record: Record) -> bool:
    """Tell whether the front page, which is short, leaves out a figure of new documents."""
    setting = record["setting"]
    return "new documents" in record["question"] and (setting["K"], setting["threads"]) != (100, 2)


def highlights(records: list[Record]) -> str:
    """Return the table of the front page: how many times as fast as its peers the program is."""
    lines = ["| what | K | threads | against | times as fast |", "| --- | ---: | ---: | --- | ---: |"]
    for question, name in HIGHLIGHTS.items():
        for record in sorted(records, key=lambda r: order(r, ("K", "threads"))):
            if record["question"] == question and record["program"] not in OTHERS and not left_out(record):
                what = f"{name} ({record['program']})" if name in SEVERAL else name
                cells = [number(x) if (x := record["setting"].get(key)) else "" for key in ("K", "threads")]
                for peer, ratio in record["ratios"].items():
                    lines.append(f"| {what} | {cells[0]} | {cells[1]} | {peer} | {number(float(f'{ratio:.3g}'))} |")
    return "\n".join(lines) + "\n"


def with_tables(text: str, tables: str) -> str:
    """Replace the tables of a page."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"tables.py: the page lacks the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--results", type=Path, default=RESULTS, help="take the figures from this folder")
    options = parser.parse_args()
    found = read(options.results)
    for page, tables in ((FRONT, highlights(found)), (PAGE, page_of(found))):
        if options.write:
            page.write_text(with_tables(page.read_text(), tables))
        else:
            print(tables)
