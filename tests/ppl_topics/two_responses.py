"""A model of two responses, a class and a rating, for tests that concern several."""

BOTH = {
    "extends": "lda",
    "name": "both",
    "parameters": {"topics": 3, "alpha": 0.3, "beta": 0.1},
    "blocks": {
        "eta_party": {"block": "normal", "per": "response"},
        "party": {"block": "logistic", "coefficients": "eta_party", "features": ["z"], "observed": "labels"},
        "eta_rating": {"block": "horseshoe", "per": "response"},
        "rating": {
            "block": "gaussian",
            "coefficients": "eta_rating",
            "features": ["z"],
            "intercept": True,
            "observed": "rating",
        },
    },
}
"""With scales, an augmentation a document and one that all documents share."""
