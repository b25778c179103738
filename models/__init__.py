"""The blocks that models are made of, one in each module, and the shipped models (YAML); importing registers them."""

from ppl_topics._util.importing import import_modules

import_modules(__name__, __path__)
