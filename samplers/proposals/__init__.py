"""Proposals for the topic of a token, of which kernels of z are composed; importing this package registers them."""

from ppl_topics._util.importing import import_modules

import_modules(__name__, __path__)
