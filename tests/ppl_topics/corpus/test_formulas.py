"""Formulas of covariates: the features they make, what training fixes of them, and what they may not be."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline

import ppl_topics as pt
from ppl_topics.corpus.covariates import CovariateWarning
from ppl_topics.corpus.formulas import FUNCTIONS, FittedFormula, check_formula, fitted_formula
from ppl_topics.corpus.scaling import scaling_of_formula
from ppl_topics.errors import CorpusError

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "treatment": RNG.integers(0, 2, 50).astype(float),
        "party": RNG.uniform(1.0, 7.0, 50),
        "sex": RNG.choice(["f", "m", "x"], 50),
        "year of birth": RNG.choice([1970, 1980, 1990], 50),
    }
)
COVARIATES = pt.Covariates.from_frame(FRAME)


def features(text, covariates=COVARIATES):
    """The features of a formula, by name."""
    formula = fitted_formula(text, COVARIATES)
    return dict(zip(formula.names, formula.apply(covariates.matrix).T, strict=True))


def test_terms_and_interactions():
    found = features("treatment * sex + party:sex")
    sex, treatment, party = FRAME.sex, FRAME.treatment, FRAME.party
    expected = {
        "treatment": treatment,
        "sex[T.m]": sex == "m",
        "sex[T.x]": sex == "x",
        "treatment:sex[T.m]": treatment * (sex == "m"),
        "treatment:sex[T.x]": treatment * (sex == "x"),
        **{f"party:sex[{level}]": party * (sex == level) for level in "fmx"},
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values.astype(float), err_msg=name)
    formula = fitted_formula("treatment * sex + party:sex", COVARIATES)
    assert dict(zip(formula.names, formula.numbers, strict=True)) == {name: name[:3] != "sex" for name in expected}


def test_a_reference_category_of_the_columns_makes_no_other_features():
    dropped = pt.Covariates.from_frame(FRAME, drop="first")
    formula = fitted_formula("sex:treatment + sex", dropped)
    np.testing.assert_array_equal(
        formula.apply(dropped.matrix), fitted_formula("sex:treatment + sex", COVARIATES).apply(COVARIATES.matrix)
    )


def test_a_spline_is_that_of_scipy():
    party = FRAME.party.to_numpy()
    inner = [np.median(party)]
    knots = [*[party.min()] * 4, *inner, *[party.max()] * 4]
    basis = BSpline.design_matrix(party, np.array(knots), 3).toarray()[:, 1:]
    found = np.column_stack(list(features("bs(party, 4)").values()))
    np.testing.assert_allclose(found, basis, atol=1e-12)


def test_numbers_that_are_categories():
    assert list(features("C(`year of birth`)")) == ["C(`year of birth`)[T.1980]", "C(`year of birth`)[T.1990]"]


@pytest.mark.parametrize(
    "text",
    [
        "bs(party, 5) * sex",
        "poly(party, 3)",
        "cr(party, 4)",
        "scale(party) + center(party)",
        "C(`year of birth`):party",
    ],
)
def test_new_documents_have_the_features_of_training(text):
    """The planted bug, fitted to the new documents themselves, gives others."""
    formula = fitted_formula(text, COVARIATES)
    some = COVARIATES.select(np.array([3, 1, 40]))
    expected = formula.apply(COVARIATES.matrix)[[3, 1, 40]]
    np.testing.assert_allclose(formula.apply(some.matrix), expected, atol=1e-12)
    stored = FittedFormula.from_json(formula.to_json(), COVARIATES.columns)
    assert stored == formula
    np.testing.assert_allclose(stored.apply(some.matrix), expected, atol=1e-12)
    refitted = FittedFormula.fit(text, some).apply(some.matrix)
    assert refitted.shape != expected.shape or np.abs(refitted - expected).max() > 0.1


def test_values_that_training_did_not_have():
    new = pd.DataFrame({"treatment": [0.0], "party": [9.0], "sex": ["other"], "year of birth": [2000]})
    encoded = COVARIATES.encode(new, allow_unknown=True)
    assert list(features("sex", encoded).values()) == [0.0, 0.0]
    with pytest.warns(CovariateWarning, match="a value that C\\(\\) did not see in training"):
        assert list(features("C(`year of birth`)", encoded).values()) == [0.0, 0.0]
    with pytest.raises(CorpusError, match="bs\\(party, 4\\): Some field values extend beyond"):
        features("bs(party, 4)", encoded)
    assert np.isfinite(list(features("bs(party, 4, extrapolation='clip')", encoded).values())).all()


def test_numbers_are_standardised_and_categories_are_not():
    formula = fitted_formula("sex * party", COVARIATES)
    scaled = scaling_of_formula(formula, COVARIATES.matrix, standardise=True).apply(COVARIATES.matrix)
    raw = scaling_of_formula(formula, COVARIATES.matrix, standardise=False).apply(COVARIATES.matrix)
    numbers = np.array(formula.numbers)
    assert 0 < numbers.sum() < len(numbers)
    np.testing.assert_allclose(scaled[:, numbers].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled[:, numbers].std(axis=0), 1.0)
    np.testing.assert_array_equal(scaled[:, ~numbers], raw[:, ~numbers])


def test_many_columns_make_a_sparse_matrix():
    frame = FRAME.assign(town=[f"t{i % 140}" for i in range(50)])
    wide = pt.Covariates.from_frame(
        pd.concat([frame] * 3, ignore_index=True).assign(town=[f"t{i}" for i in range(150)])
    )
    assert wide.is_sparse
    np.testing.assert_array_equal(
        fitted_formula("party * sex", wide).apply(wide.matrix[:50]),
        fitted_formula("party * sex", COVARIATES).apply(COVARIATES.matrix),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partyy", "the covariates have no column 'partyy'; did you mean 'party'"),
        ("bs(sex, 4)", "bs\\(sex, 4\\) needs numbers, and 'sex' is a column of categories"),
        ("log(treatment)", "log\\(treatment\\) of document \\d+ is -inf"),
        ("bs(party, df='x')", "formula .*: bs\\(party, df='x'\\): unsupported operand"),
    ],
)
def test_formulas_that_do_not_fit_the_covariates(text, message):
    with pytest.raises(CorpusError, match=message):
        features(check_formula(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (5, "expected a formula such as 'treatment \\* bs\\(party, 4\\)', got 5"),
        ("", "names no covariate"),
        ("1", "names no covariate"),
        ("y ~ x", "has several parts; give only what stands on the right of ~"),
        ("x | z", "has several parts"),
        ("x +", "cannot read the formula 'x \\+'"),
        (". + x", "'.' is all columns, and stands alone"),
        # formulaic would run each of these.
        ("np.log(x)", "'np.log' in a formula is none of its functions; it may call bs, "),
        ("{__import__('os').getcwd()}", "is none of its functions"),
        ("{open('/etc/passwd').read()}", "is none of its functions"),
        ("{x.__class__}", "is no number, column or function"),
        ("{[y for y in x]}", "is no number, column or function"),
        ("{(lambda: x)()}", "is none of its functions"),
        ("bs(x, df=eval('4'))", "'eval' in a formula"),
        ("x[0]", "is no number, column or function"),
    ],
)
def test_what_is_no_formula(text, message):
    with pytest.raises(ValueError, match=message):
        check_formula(text)


def test_every_function_is_known_to_formulaic():
    from formulaic.transforms import TRANSFORMS

    assert set(FUNCTIONS) <= set(TRANSFORMS)


def test_a_stored_formula_with_other_names():
    stored = json.loads(fitted_formula("party", COVARIATES).to_json())
    other = FittedFormula.from_json(json.dumps([stored[0], ["a", "b"], [True, True], stored[3]]), COVARIATES.columns)
    with pytest.raises(CorpusError, match="formula 'party' makes 1 features, and 2 have names"):
        other.apply(COVARIATES.matrix)


@pytest.mark.parametrize("damage", [lambda f: "x", lambda f: [*f[:3], {}], lambda f: ["{exit()}", *f[1:]]])
def test_a_stored_formula_that_is_none(damage):
    stored = json.loads(fitted_formula("party", COVARIATES).to_json())
    with pytest.raises((ValueError, KeyError)):
        FittedFormula.from_json(json.dumps(damage(stored)), COVARIATES.columns)
