"""All targets by name."""

from __future__ import annotations

from collections.abc import Callable

from corpus_targets import COUNT_TARGETS, TEXT_TARGETS, CompressedTarget, LineTarget, NativeTarget, VocabularyTarget
from group_targets import TraceGroupsTarget
from harness import Target
from run_targets import RunFolderTarget
from spec_targets import OptionsTarget, SpecTarget
from trace_targets import TraceFileTarget, TraceTarget


def _given(target: LineTarget) -> Callable[[], Target]:
    return lambda: target


TARGETS: dict[str, Callable[[], Target]] = {
    **{target.name: _given(target) for target in (*COUNT_TARGETS, *TEXT_TARGETS)},
    "vocabulary": VocabularyTarget,
    "compressed": CompressedTarget,
    "native": NativeTarget,
    "spec": SpecTarget,
    "options": OptionsTarget,
    "trace": TraceTarget,
    "trace_file": TraceFileTarget,
    "trace_groups": TraceGroupsTarget,
    "run_folder": RunFolderTarget,
}
