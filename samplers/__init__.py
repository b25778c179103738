"""The kernels; importing this package registers them, one from each module that has a kernel."""

from ppl_topics._util.importing import import_modules

import_modules(__name__, __path__)
