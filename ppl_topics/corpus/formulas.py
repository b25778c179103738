"""Formulas of covariates, such as ``treatment * bs(party, 4)``, as columns of numbers; formulaic does the algebra."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.nearest import nearest
from ppl_topics._util.user_warning import warn_user
from ppl_topics.corpus.covariates import CovariateColumn, CovariateMatrix, Covariates, CovariateWarning
from ppl_topics.corpus.names import document_name
from ppl_topics.errors import CorpusError

__all__ = ["FittedFormula", "check_formula", "fitted_formula"]

FUNCTIONS = ("bs", "cr", "cs", "cc", "poly", "center", "scale", "log", "log2", "log10", "exp", "C", "I")
"""What a formula may call. formulaic runs what it is given as Python, and models come from files that others wrote."""

SYNTAX = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.keyword, ast.BinOp, ast.UnaryOp, ast.List)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd)

QUOTED = re.compile(r"`([^`]*)`")
EVALUATED = re.compile(r"Unable to evaluate factor `(.*)`\. \[\w+: (.*)\]")
"""What formulaic says when a function refuses its values."""

WHOLE = re.compile(r"(\[(?:T\.)?-?\d+)\.0\]")
"""A category that is a whole number, in the name of its column."""


@dataclass(frozen=True)
class _Factor:
    """A part of a formula, such as ``bs(party, 4)``: the function that is called, if any, and the columns it is of."""

    text: str
    function: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FittedFormula:
    """A formula with what the training documents fixed: knots of splines, means, categories.

    Parameters
    ----------
    text : str
    columns : tuple of CovariateColumn
        The covariates that it is a formula of.
    names : tuple of str
        Of the features that it makes, without the intercept.
    numbers : tuple of bool
        Whether each is a number; else it is 0 or 1, of categories alone.
    state : mapping
        What formulaic has to remember, by factor: of transforms, and the categories.
    """

    text: str
    columns: tuple[CovariateColumn, ...]
    names: tuple[str, ...]
    numbers: tuple[bool, ...]
    state: Mapping[str, Mapping[str, Any]]

    @classmethod
    def fit(cls, text: str, covariates: Covariates) -> FittedFormula:
        """Fix what a formula takes from the training documents.

        Raises
        ------
        CorpusError
            If it names a column that the covariates do not have, or its values are not finite.
        """
        columns = {column.name: column for column in covariates.columns}
        for factor in _factors(text):
            for name in factor.columns:
                if name not in columns:
                    raise CorpusError(
                        f"formula {text!r}: the covariates have no column {name!r}{nearest(name, columns)}"
                    )
                if factor.function not in ("", "C") and columns[name].levels is not None:
                    raise CorpusError(
                        f"formula {text!r}: {factor.text} needs numbers, and {name!r} is a column of categories"
                    )
        empty = cls(text, covariates.columns, (), (), {"transforms": {}, "categories": {}})
        made = empty._materialise(covariates.matrix)
        spec = made.model_spec
        kinds = {factor: kind.value for factor, (kind, _) in spec.encoder_state.items()}
        found = {name: str(term) for term, _, names in spec.structure for name in names}
        names = tuple(name for name in map(str, made.columns) if name != "Intercept")
        if not names:
            raise CorpusError(f"formula {text!r} makes no feature of the documents; name at least one covariate")
        categories = {
            factor: list(state["categories"])
            for factor, (_, state) in spec.encoder_state.items()
            if "categories" in state
        }
        of_term = {str(term): [factor.expr for factor in term.factors] for term in spec.formula}
        return cls(
            text,
            covariates.columns,
            tuple(WHOLE.sub(r"\1]", name) for name in names),
            tuple(any(kinds.get(factor) != "categorical" for factor in of_term[found[name]]) for name in names),
            _plain({"transforms": spec.transform_state, "categories": categories}),
        )

    @property
    def covariates(self) -> set[str]:
        """Names of the columns that the formula is of."""
        return {name for factor in _factors(self.text) for name in factor.columns}

    def apply(self, matrix: CovariateMatrix) -> FloatArray:
        """Return the features of documents with these covariates, shape (D, number of names).

        Raises
        ------
        CorpusError
            If a value is outside what the formula allows, such as the range of a spline.
        """
        made = self._materialise(matrix)
        values: FloatArray = made.drop(columns="Intercept", errors="ignore").to_numpy(dtype=np.float64)
        if values.shape[1] != len(self.names):
            raise CorpusError(
                f"formula {self.text!r} makes {values.shape[1]} features, and {len(self.names)} have names"
            )
        if not np.isfinite(values).all():
            doc, feature = (int(found[0]) for found in np.nonzero(~np.isfinite(values)))
            raise CorpusError(
                f"formula {self.text!r}: {self.names[feature]} of {document_name(doc, None)} is {values[doc, feature]}"
            )
        return np.ascontiguousarray(values)

    def to_json(self) -> str:
        """Write all but the columns, which are kept beside it, as JSON."""
        return json.dumps([self.text, self.names, self.numbers, self.state])

    @classmethod
    def from_json(cls, text: str, columns: tuple[CovariateColumn, ...]) -> FittedFormula:
        """Read the output of `to_json`, which anybody may have written; raises ValueError where it is no formula."""
        formula, names, numbers, state = json.loads(text)
        check_formula(formula)
        if not all(isinstance(name, str) for name in names) or len(numbers) != len(names):
            raise ValueError("the names of the features are wrong")
        transforms = {factor: _numbered(found) for factor, found in state["transforms"].items()}
        return cls(
            formula,
            columns,
            tuple(names),
            tuple(map(bool, numbers)),
            {"transforms": transforms, "categories": dict(state["categories"])},
        )

    def _materialise(self, matrix: CovariateMatrix) -> Any:
        """Return formulaic's matrix, with what it remembers in `model_spec`."""
        # It takes a tenth of a second to import, for those who have no formula.
        from formulaic import Formula, ModelSpec
        from formulaic.errors import DataMismatchWarning
        from formulaic.parser.types import Factor

        kind = Factor.Kind.CATEGORICAL
        encoders = {factor: (kind, {"categories": found}) for factor, found in self.state["categories"].items()}
        spec = ModelSpec(
            formula=Formula(self.text),
            # What training has no documents of counts as none of its categories.
            na_action="ignore",
            output="pandas",
            transform_state=_copied(self.state["transforms"]),
            encoder_state=encoders,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = spec.get_model_matrix(_frame(matrix, self.columns, self.covariates), context=None)
            except Exception as error:  # formulaic's transforms raise what NumPy and pandas do
                raise CorpusError(f"formula {self.text!r}: {_reason(error)}") from None
        # Of columns of categories, whoever encoded them has warned already: to formulaic, those are nan.
        unseen = [w for w in caught if issubclass(w.category, DataMismatchWarning) and ": {nan}." not in str(w.message)]
        if unseen:
            warn_user(
                f"formula {self.text!r}: some documents have a value that C() did not see in training; it counts as "
                "none of those of training",
                CovariateWarning,
            )
        return made


_FITTED: WeakKeyDictionary[Covariates, dict[str, FittedFormula]] = WeakKeyDictionary()


def fitted_formula(text: str, covariates: Covariates) -> FittedFormula:
    """Return `FittedFormula.fit`, which every forecast and every chain asks for, of the same covariates only once."""
    known = _FITTED.setdefault(covariates, {})
    if text not in known:
        known[text] = FittedFormula.fit(text, covariates)
    return known[text]


def check_formula(text: Any) -> str:
    """Return a formula, and refuse what is none, or calls anything but `FUNCTIONS`; raises ValueError."""
    if not isinstance(text, str):
        raise ValueError(f"expected a formula such as 'treatment * bs(party, 4)', got {text!r}")
    if not any(factor.columns for factor in _factors(text)):
        raise ValueError(f"the formula {text!r} names no covariate; expected one such as 'treatment * bs(party, 4)'")
    return text


def _factors(text: str) -> Iterator[_Factor]:
    """Yield the factors of a formula that name columns."""
    from formulaic import Formula
    from formulaic.formula import SimpleFormula

    try:
        formula: Any = Formula(text)
    except Exception as error:  # the parser raises several kinds
        raise ValueError(f"cannot read the formula {text!r}: {_reason(error)}") from None
    if not isinstance(formula, SimpleFormula):
        raise ValueError(f"the formula {text!r} has several parts; give only what stands on the right of ~")
    seen = {factor.expr: factor for term in formula for factor in term.factors}
    for factor in seen.values():
        if factor.eval_method.value == "lookup":
            yield _Factor(factor.expr, "", (factor.expr,))
        elif factor.eval_method.value == "python":
            yield _python_factor(factor.expr)


def _python_factor(text: str) -> _Factor:
    """Return a factor that formulaic would run as Python, having checked that it only calls functions of columns."""
    quoted = QUOTED.findall(text)
    sources = iter(range(len(quoted)))
    try:
        tree = ast.parse(QUOTED.sub(lambda _: f"_quoted_{next(sources)}", text), mode="eval")
    except SyntaxError:
        raise ValueError(f"{text!r} in a formula cannot be read") from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = [node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func) for node in calls]
    strange = next((name for name in called if name not in FUNCTIONS), None)
    if strange is not None:
        raise ValueError(f"{strange!r} in a formula is none of its functions; it may call {', '.join(FUNCTIONS)}")
    for node in ast.walk(tree):
        if not isinstance(node, (*SYNTAX, *OPERATORS)):
            raise ValueError(
                f"{text!r} in a formula: {ast.unparse(node) or type(node).__name__!r} is no number, column or function"
            )
    functions = {id(node.func) for node in calls}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
    columns = {f"_quoted_{place}": name for place, name in enumerate(quoted)}
    return _Factor(text, called[0] if called else "I", tuple(dict.fromkeys(columns.get(name, name) for name in names)))


def _frame(matrix: CovariateMatrix, columns: tuple[CovariateColumn, ...], wanted: set[str]) -> pd.DataFrame:
    """Return a data frame of the columns that are wanted: numbers, and categories."""
    data: dict[str, Any] = {}
    first = 0
    for column in columns:
        part: Any = matrix[:, first : first + len(column.names)]
        first += len(column.names)
        if column.name not in wanted:
            continue
        values = part if isinstance(part, np.ndarray) else part.toarray()
        if column.levels is None:
            data[column.name] = values[:, 0]
            continue
        kept = [level for level in column.levels if level != column.reference]
        none = -1 if column.reference is None else column.levels.index(column.reference)
        places = np.array([column.levels.index(level) for level in kept], dtype=np.int64)
        found = places[values.argmax(axis=1)] if kept else none
        codes: IntArray = np.where(values.any(axis=1), found, none)
        data[column.name] = pd.Categorical.from_codes(codes.tolist(), categories=pd.Index(column.levels))
    return pd.DataFrame(data, index=range(matrix.shape[0]))


def _reason(error: Exception) -> str:
    """Return why formulaic refuses a formula, in a line."""
    text = str(error.args[0] if error.args else error).partition("\n")[0]
    if text.startswith("The `.` operator"):
        return "'.' is all columns, and stands alone; name the columns beside others"
    found = EVALUATED.fullmatch(text)
    return text if found is None else f"{found[1]}: {found[2]}"


def _plain(value: Any) -> Any:
    """Return what formulaic remembers as JSON has it."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _numbered(value: Any) -> Any:
    """Return mappings whose keys are numbers, which JSON makes texts, with numbers again."""
    if isinstance(value, dict):
        return {int(key) if key.isdigit() else key: _numbered(each) for key, each in value.items()}
    return value


def _copied(value: Any) -> Any:
    """Return a copy that formulaic may write to."""
    return {key: _copied(each) for key, each in value.items()} if isinstance(value, Mapping) else value
