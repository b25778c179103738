"""Model specifications: YAML to validated models."""

from ppl_topics.spec.document import Docs, RecordRule, Spec, TopWords, load_spec
from ppl_topics.spec.model import Factor, Model, Variable

__all__ = ["Docs", "Factor", "Model", "RecordRule", "Spec", "TopWords", "Variable", "load_spec"]
