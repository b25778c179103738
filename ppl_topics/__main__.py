"""``python -m ppl_topics``: the command line."""

import sys

from ppl_topics.cli import main

if __name__ == "__main__":
    sys.exit(main())
