"""Augmentation variables drawn cell by cell, in parallel over documents.

A kernel's file holds the draw of one cell, ``draw_cell(stream, cell, parameters)``, and the declaration. Parameters are
a matrix for each parameter of the distribution, of shape (D, C); a cell is the index of a document and a response.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import specialised
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.augmentation.arguments import arguments_of
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["Cell", "Parameters", "cells_kernel", "compile_cells"]

Cell = tuple[int, int]
Parameters = tuple[FloatArray, ...]

# What the templates call: `specialised` puts compiled functions in their places.
draw_cell: Any = None
draw_rows: Any = None


def compile_cells(draw_cell: Callable[..., float], label: str) -> Callable[..., None]:
    """Compile the draw of all cells, ``(chunk_ptr, parameters, key, out)``, from the draw of one."""
    rows = specialised(rows_template, label, cached=True, draw_cell=draw_cell)
    return specialised(cells_template, label, cached=True, in_parallel=True, draw_rows=rows)


def cells_template(chunk_ptr: IntArray, parameters: Parameters, key: Key, out: FloatArray) -> None:
    """Draw all cells into `out`, in parallel over documents."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        draw_rows(chunk_ptr[chunk], chunk_ptr[chunk + 1], parameters, key, out)


def rows_template(first: int, last: int, parameters: Parameters, key: Key, out: FloatArray) -> None:
    """Draw the cells of documents `first` to `last` - 1, from one stream for each document."""
    stream = new_stream()
    for doc in range(first, last):
        start(stream, key, doc)
        for response in range(out.shape[1]):
            out[doc, response] = draw_cell(stream, (doc, response), parameters)


def cells_kernel(binding: Binding, draw_cells: Callable[..., None]) -> KernelFunctions:
    """Return the functions of a kernel that draws every cell of the augmentation given z and eta."""
    name, chunk_ptr, arguments = binding.names["augmentation"], binding.tokens.chunk_ptr, arguments_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        value, given = state.arrays[name], arguments(state)
        shape = (len(value), math.prod(value.shape[1:]))
        arrays = given if isinstance(given, tuple) else (given,)
        parameters = tuple(np.ascontiguousarray(array, dtype=np.float64).reshape(shape) for array in arrays)
        draw_cells(chunk_ptr, parameters, key, value.reshape(shape))

    return KernelFunctions(step)
