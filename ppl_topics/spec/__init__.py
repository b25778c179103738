"""Model specifications: YAML to validated models."""

from ppl_topics.spec.model import Factor, Model, Variable
from ppl_topics.spec.model_file import Docs, RecordRule, TopWords
from ppl_topics.spec.specification import Spec, load_spec

__all__ = ["Docs", "Factor", "Model", "RecordRule", "Spec", "TopWords", "Variable", "load_spec"]
