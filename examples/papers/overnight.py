"""Run every study of the papers, two at a time, and draw their figures.

    python examples/papers/overnight.py DATA docs/papers    # and then page.py, which writes docs/papers.md

DATA is a folder with the corpora: `20news-matlab` (train.svmlight.gz, test.svmlight.gz, vocab.txt, labels.txt),
`20news-bydate.jsonl.gz` and `hotel`. A study whose files are there is not run again, and a supervised one that was
interrupted goes on where it was; so to repeat a study, delete its files. What it prints goes to a .log beside them.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
VARIABLES = {
    "NEWS": "--train $DATA/20news-matlab/train.svmlight.gz --test $DATA/20news-matlab/test.svmlight.gz"
    " --vocabulary $DATA/20news-matlab/vocab.txt --class-names $DATA/20news-matlab/labels.txt",
    "HOTEL": "--train $DATA/hotel/train.svmlight.gz --test $DATA/hotel/test.svmlight.gz"
    " --vocabulary $DATA/hotel/vocab.txt",
    "WORDS": "--data $DATA/20news-matlab/train.svmlight.gz --vocabulary $DATA/20news-matlab/vocab.txt",
    "NAMES": "--class-names $DATA/20news-matlab/labels.txt",
    "POSTINGS": "--postings $DATA/20news-bydate.jsonl.gz",
    "PRUNED": "--stop-words --min-count 10",
    "BOTH": "--start uniform labels",
    "RIVALS": "sparse_partially_collapsed alias_partially_collapsed light_partially_collapsed block_collapsed"
    " sparse_collapsed light_collapsed",
}
"""What the commands abbreviate."""

STUDIES = {
    "zheng_2015_fig1": "zheng_2015.py --study fig1 $NEWS $BOTH",
    "zheng_2015_fig5": "zheng_2015.py --study fig5 $HOTEL",
    "zhu_2013_fig1": "zhu_2013.py --study fig1 $NEWS --stop-words $BOTH",
    "zhu_2013_fig3": "zhu_2013.py --study fig3 $NEWS --stop-words $BOTH",
    "zhu_2013_fig5": "zhu_2013.py --study fig5 $NEWS --stop-words $BOTH",
    "zhu_2013_fig6": "zhu_2013.py --study fig6 $NEWS --stop-words",
    "magnusson_2018_table6": "spike_slab_zeros.py $WORDS --sweeps 300 --seeds 3",
    "magnusson_2018_figB1": "spike_slab_zeros.py --sweeps 3000 --seeds 3",
    "magnusson_2018_fig4_1": "race.py $WORDS --kernels sparse_partially_collapsed sparse_collapsed --alpha 0.1 0.01"
    " --beta 0.1 0.01 --sweeps 100 --seeds 3",
    "magnusson_2018_fig4_2": "ad_lda_drift.py $WORDS --sweeps 150 --seeds 3",
    "magnusson_2018_fig4_4": "race.py $WORDS --kernels $RIVALS --topics 10 100 --seconds 40 --seeds 3",
    "magnusson_2018_fig4_4_k1000": "race.py $WORDS --kernels $RIVALS --topics 1000 --seconds 45 --seeds 3",
    "magnusson_2018_fig4_5": "race.py --kernels $RIVALS --topics 100 --seconds 10 --seeds 3",
    "magnusson_2018_table3": "inefficiency.py $WORDS --topics 100 --common 500 --draws 500 --seeds 3",
    "dolda_2020_fig2": "dolda_2020.py --study fig2 $NEWS $PRUNED",
    "dolda_2020_fig3": "dolda_2020.py --study fig3 $POSTINGS $PRUNED",
    "dolda_2020_fig9": "dolda_2020.py --study fig9 $NEWS $PRUNED",
    "dolda_2020_topics": "dolda_2020_topics.py $WORDS $NAMES $PRUNED --topics 80",
    "zheng_2015_fig2": "zheng_2015.py --study fig2 $NEWS",
    "zheng_2015_fig3": "zheng_2015.py --study fig3 $NEWS --topics 20 100",
    "zheng_2015_fig4": "zheng_2015.py --study fig4 $NEWS --topics 20 50 100",
    "zheng_2015_ess": "zheng_2015.py --study ess $NEWS",
    "zheng_2015_fig6": "zheng_2015.py --study fig6 $NEWS --with $OUT/zheng_2015_fig2.csv light mixture",
    "zheng_2015_fig7": "zheng_2015.py --study fig7 $NEWS --with $OUT/zheng_2015_fig2.csv light '6 steps'",
    "zheng_2015_fig8": "zheng_2015.py --study fig8 $NEWS --with $OUT/zheng_2015_fig2.csv light '2 sweeps'",
    "zheng_2015_chains": "zheng_2015.py --study chains $NEWS $BOTH",
    **{
        f"defaults_ratings_{name}": f"defaults.py --study ratings $HOTEL {how}"
        for name, how in {
            "as_they_are": "",
            "0_1": "--scale 0 1",
            "1_5": "--scale 1 5",
            "as_they_are_300": "--docs 300",
            "0_1_300": "--docs 300 --scale 0 1",
            "1_5_300": "--docs 300 --scale 1 5",
        }.items()
    },
    "defaults_near": "defaults.py --study near $NEWS --start labels --seeds 2",
    "defaults_reviews": "defaults.py --study reviews $HOTEL --start labels --seeds 2",
    "defaults_labels": "defaults.py --study labels $POSTINGS --min-count 2 --start labels --seeds 2",
    "zheng_2015_fig2_labels": "zheng_2015.py --study fig2 $NEWS --start labels --topics 20 100 --lines light ours",
    "zheng_2015_fig2c": "zheng_2015.py --study fig2c $NEWS --topics 50 200",
    "zheng_2015_fig2b": "zheng_2015.py --study fig2b $NEWS --stop-words --topics 20 50 --seeds 1",
    "zhu_2013_fig2": "zhu_2013.py --study fig2 $NEWS --stop-words --topics 20 50 --seeds 1",
    "zhu_2013_fig4": "zhu_2013.py --study fig4 $NEWS --stop-words --seeds 1"
    " --with $OUT/zhu_2013_fig2.csv 'c = 256' 'c = 256'",
}
"""The command of each study, which is also the name of its files; short ones first."""
THREADS = {
    "magnusson_2018_table5": "race.py $WORDS --kernels sparse_partially_collapsed --threads 1 2 --topics 100 1000"
    " --seconds 40 --seeds 3",
    "dolda_2020_fig9b": "dolda_2020.py --study fig9b $NEWS $PRUNED",
}
"""Studies that need the machine for themselves, which run last."""
FILES = {
    "magnusson_2018_table3": (".csv",),
    "dolda_2020_topics": (".csv", "_fig4.png", "_fig5.png", "_fig6.png", "_fig7.png", "_fig8.png"),
}
"""What a study writes, if not a table and a figure."""


def command(name: str) -> str:
    """Return what runs a study, without the files that it writes."""
    line = {**STUDIES, **THREADS}[name]
    return f"python examples/papers/{line}" + ("" if "--threads" in line or name in THREADS else " --threads 1")


def files_of(name: str, out: Path) -> list[Path]:
    """Return the files of a study; once it has the last one, it is done."""
    return [out / f"{name}{end}" for end in FILES.get(name, (".csv", ".png"))]


def run(name: str, data: Path, out: Path) -> str:
    """Run one study; return what came of it."""
    files, started = files_of(name, out), time.perf_counter()
    if files[-1].exists():
        return f"{name}: there already"
    given = Template(Template(command(name)).safe_substitute(VARIABLES)).substitute(DATA=data, OUT=out)
    given = shlex.split(given)[1:]
    given = [sys.executable, str(HERE / Path(given[0]).name), *given[1:], "--out", *map(str, files)]
    with (out / f"{name}.log").open("a") as log:
        done = subprocess.run(given, stdout=log, stderr=log, check=False)
    minutes = (time.perf_counter() - started) / 60
    return f"{name}: {minutes:.1f} minutes" if done.returncode == 0 else f"{name}: failed, see {name}.log"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("out", type=Path, help="folder of the figures and tables")
    everything = [*STUDIES, *THREADS]
    parser.add_argument("--studies", nargs="+", choices=everything, default=everything, metavar="NAME")
    parser.add_argument("--at-once", type=int, default=2, help="studies that run beside each other (2)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for studies, at_once in ((STUDIES, options.at_once), (THREADS, 1)):
        with ThreadPoolExecutor(at_once) as pool:
            chosen = [name for name in options.studies if name in studies]
            for report in pool.map(lambda name: run(name, options.data, options.out), chosen):
                print(report, flush=True)


if __name__ == "__main__":
    main()
