"""The corpus and the options of the tests of topic quality."""

TEXTS = ["goal match goal team", "team match goal", "law vote law rule", "law vote election rule"] * 6 + [""]
LABELS = ["sport", "sport", "politics", "law"] * 6 + ["sport"]
FAST = {"draws": 8, "warmup": 10, "chains": 1, "seed": 1, "progress": False}
DEFAULT = ["topic", "share", "umass", "npmi", "c_v", "entropy", "exclusivity", "effective_words", "words"]
