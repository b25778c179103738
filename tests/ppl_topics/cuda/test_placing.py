"""What is said where there is no device, or none that can be used."""

import sys

import pytest
from numba import config, cuda

import ppl_topics as pt
from ppl_topics.engine.placing import check_device
from ppl_topics.errors import PplTopicsError, RunError

pytestmark = pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the simulator is a device")


def test_no_such_device():
    with pytest.raises(PplTopicsError, match=r"device: expected cpu or cuda, got 'tpu'"):
        pt.sample("lda", pt.Corpus.from_texts(["red green"]), device="tpu")


def test_without_numba_cuda(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(RunError, match=r"cuda needs the package numba-cuda, .* install ppl-topics\[cuda\]"):
        check_device("cuda")


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
def test_without_a_device():
    with pytest.raises(RunError, match=r"cuda needs an NVIDIA GPU and its driver, .*nvidia-smi.*leave out"):
        check_device("cuda")


def test_an_old_device(monkeypatch):
    class Old:
        name, compute_capability = b"GeForce GTX 1080", (6, 1)

    monkeypatch.setattr(cuda, "cuda_error", lambda: None)
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "get_current_device", Old)
    with pytest.raises(RunError, match=r"GeForce GTX 1080 has compute capability 6.1, and 7.0 is needed"):
        check_device("cuda")
