"""Registration of blocks and kernels: decorators, clashes, declarations, entry points."""

from importlib.metadata import EntryPoint
from typing import Annotated, ClassVar, Literal

import pydantic
import pytest

from ppl_topics.core import registry
from ppl_topics.core.binding import Binding
from ppl_topics.core.block import Block
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.registry import block, blocks, kernel, kernels
from ppl_topics.errors import SpecError

DECLARED = {"updates": "z", "integrates_out": "theta", "reads": ("alpha", "phi"), "handles": "words", "exact": True}


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    known = registry._Registry(blocks(), kernels(), loaded=True)
    monkeypatch.setattr(registry, "_registry", known)
    return known


def build(binding: Binding) -> KernelFunctions:
    """Do nothing."""
    return KernelFunctions(lambda state, memory, key: None)


def test_shipped_are_listed():
    assert {"dirichlet", "assignments", "words", "gamma"} <= set(blocks())
    assert {"collapsed_gibbs", "partially_collapsed", "dirichlet_rows", "slice_alpha"} <= set(kernels())
    for name, spec in kernels().items():
        declaration = spec.declaration()
        assert declaration["name"] == name
        assert declaration["doc"]
        assert declaration["cost"]
    assert kernels()["collapsed_gibbs"].declaration()["options"] == {"words": {"min_count": 1, "max_count": None}}


def test_a_kernel_is_registered_and_forgotten():
    assert kernel("mine", **DECLARED)(build) is build
    spec = kernels()["mine"]
    assert (spec.updates, spec.integrates_out, spec.reads) == (("z",), ("theta",), ("alpha", "phi"))
    assert (spec.handles, spec.exact, spec.automatic, spec.full_conditional) == (("words",), True, False, False)
    assert spec.doc == "Do nothing."
    assert spec.seconds({"N": 10, "K": 3}) == pytest.approx(30e-9)
    registry.unregister_kernel("mine")
    registry.unregister_kernel("mine")
    assert "mine" not in kernels()


def test_lists_are_copies():
    kernels().clear()
    blocks().clear()
    assert kernels()
    assert blocks()


def test_name_clash_and_reload():
    kernel("mine", **DECLARED)(build)
    kernel("mine", **DECLARED)(build)

    def other(binding):
        return KernelFunctions(lambda state, memory, key: None)

    with pytest.raises(SpecError) as failure:
        kernel("mine", **DECLARED)(other)
    assert str(failure.value) == (
        f"a kernel named 'mine' is already registered by {__name__}.build; choose another name for "
        f"{__name__}.test_name_clash_and_reload.<locals>.other"
    )
    assert kernels()["mine"].build is build


@pytest.mark.parametrize("name", ["Mine", "1a", "a-b", "", "a b", "mine\n", "é", 5, None])
def test_bad_names(name):
    with pytest.raises(SpecError, match="use lower-case letters, digits and _, a letter first"):
        kernel(name, **DECLARED)(build)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"updates": ()}, "`updates` is empty"),
        ({"reads": ("theta", "alpha")}, "'theta' is in `integrates_out` and also in `updates` or `reads`"),
        ({"integrates_out": "z"}, "'z' is in `integrates_out` and also in"),
        ({"cost": "N *"}, "cost 'N \\*' is not a formula in N, D, V, K, C, F, F_d, K_d, K_w, L and numeric options"),
        ({"cost": "N * M"}, "cost 'N \\* M' is not a formula"),
        ({"cost": "'a'"}, "gives 'a'"),
        ({"cost": "N / 0"}, "is not a formula"),
        ({"cost": "-N"}, "write a formula"),
        ({"cost": "__import__('os')"}, "is not a formula"),
        ({"memory": "8 * M"}, "memory '8 \\* M' is not a formula"),
        ({"memory": "-V"}, "memory '-V' gives -20000.0; write a formula"),
        ({"tasks": "K *"}, "tasks 'K \\*' is not a formula"),
    ],
)
def test_contradictory_declarations(changed, expected):
    with pytest.raises(SpecError, match=expected):
        kernel("mine", **(DECLARED | changed))(build)
    assert "mine" not in kernels()


def no_binding():
    return build


def two_bindings(a, b):
    return build


def many(binding, *rest):
    return build


def any_option(binding, **options):
    return build


def required(binding, *, sweeps: int):
    return build


def reserved(binding, *, kernel: str = "a"):
    return build


def unresolved(binding, *, sweeps: "Nowhere" = 1):  # noqa: F821
    return build


def out_of_range(binding, *, sweeps: Annotated[int, pydantic.Field(ge=1)] = 0):
    return build


def private(binding, *, _sweeps: int = 1):
    return build


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (no_binding, "its builder takes one Binding, and options that are keyword-only"),
        (two_bindings, "its builder takes one Binding"),
        (many, "its builder takes one Binding"),
        (any_option, "its builder takes one Binding"),
        (required, "its option 'sweeps' needs a default value"),
        (reserved, "its option 'kernel' needs another name"),
        (unresolved, "the types of its options cannot be used"),
        (out_of_range, "the default of its option 'sweeps': Input should be greater than or equal to 1"),
        (private, "its option '_sweeps' needs another name"),
        (5, "its builder must be a function, got 5"),
    ],
)
def test_bad_builders(builder, expected):
    with pytest.raises(SpecError, match=expected) as failure:
        kernel("mine", **DECLARED)(builder)
    assert str(failure.value).startswith("kernel 'mine'")


def test_options_are_strict():
    def builder(
        binding: Binding,
        *,
        sweeps: Annotated[int, pydantic.Field(ge=1)] = 2,
        how: Literal["a", "b"] = "a",
        words: WordSelection = ALL_WORDS,
        untyped=None,
    ) -> KernelFunctions:
        return build(binding)

    kernel("mine", **DECLARED)(builder)
    options = kernels()["mine"].options
    assert options().model_dump() == {
        "sweeps": 2,
        "how": "a",
        "words": {"min_count": 1, "max_count": None},
        "untyped": None,
    }
    for wrong in ({"sweeps": 0}, {"sweeps": 1.5}, {"sweeps": True}, {"how": "c"}, {"more": 1}, {"words": 3}):
        with pytest.raises(pydantic.ValidationError):
            options(**wrong)


def test_word_selection():
    import numpy as np

    counts = np.array([0, 1, 4, 5, 9])
    assert WordSelection(min_count=4, max_count=5).mask(counts).tolist() == [False, False, True, True, False]
    assert WordSelection(min_count=5).mask(counts).tolist() == [False, False, False, True, True]
    with pytest.raises(pydantic.ValidationError, match="max_count 2 is below min_count 3"):
        WordSelection(min_count=3, max_count=2)


def test_blocks():
    @block("mine")
    class Mine(Block):
        block: Literal["mine"] = "mine"
        size: int = 1

    assert blocks()["mine"] is Mine
    assert Mine.kind == "mine"
    assert Mine().check("z", 3) is None
    assert Mine().dims("z") is None
    with pytest.raises(SpecError, match="'mine' cannot be simulated: it has no method `simulate`"):
        Mine().simulate("z", {}, None, None)
    with pytest.raises(SpecError, match="override reference_role"):
        Mine().reference_role("size", "z")

    class Other(Block):
        block: Literal["mine"] = "mine"

    with pytest.raises(SpecError, match="a block named 'mine' is already registered"):
        block("mine")(Other)


def test_bad_blocks():
    class NoField(Block):
        pass

    class NoReference(Block):
        references: ClassVar = {"prior": "topics"}
        block: Literal["mine"] = "mine"

    with pytest.raises(SpecError, match="must declare the field `block: Literal\\['mine'\\] = 'mine'`"):
        block("mine")(NoField)
    with pytest.raises(SpecError, match="must declare the field 'prior', which `references` names"):
        block("mine")(NoReference)
    for wrong in (5, dict, build):
        with pytest.raises(SpecError, match=r"must be a class derived from ppl_topics\.Block"):
            block("mine")(wrong)
    assert "mine" not in blocks()


class Point:
    def __init__(self, name, load):
        self.name, self.value, self.load = name, f"{name}.module", load


def test_entry_points(own_registry, monkeypatch):
    asked = []

    def points(group):
        asked.append(group)
        return [Point("theirs", lambda: kernel("theirs", **DECLARED)(build))] if group == "ppl_topics.kernels" else []

    monkeypatch.setattr(registry, "entry_points", points)
    own_registry.loaded = False
    assert "theirs" in kernels()
    assert asked == ["ppl_topics.blocks", "ppl_topics.kernels", "ppl_topics.proposals"]
    blocks()
    assert len(asked) == 3


def test_failing_entry_point(own_registry, monkeypatch):
    broken = EntryPoint("theirs", "no_such_module_of_theirs", "ppl_topics.kernels")
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken] if group == broken.group else [])
    own_registry.loaded = False
    expected = (
        "entry point 'theirs' of group 'ppl_topics.kernels' (no_such_module_of_theirs) fails to load: "
        "ModuleNotFoundError: No module named 'no_such_module_of_theirs'; fix or uninstall that package"
    )
    # The second call must not pretend that all is loaded.
    for _ in range(2):
        with pytest.raises(SpecError) as failure:
            kernels()
        assert str(failure.value) == expected


@pytest.mark.parametrize("key", ["updates", "integrates_out", "reads", "handles"])
@pytest.mark.parametrize("value", [3, None, ["z", 3]])
def test_roles_must_be_words(key, value):
    with pytest.raises(SpecError, match=f"kernel 'mine': `{key}` must be a word or a list of words, got"):
        kernel("mine", **{**DECLARED, key: value})(build)
