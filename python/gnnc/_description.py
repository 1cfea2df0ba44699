# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled model says of itself, as plain data."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Value:
    """An input, parameter, state or output. Its shape is the extent of `space`, if it has one, followed by `dims`."""

    name: str
    space: str | None
    dims: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str  #: "f32", "f64", "bf16" or "f16"
    optional: bool = False  #: may be left out
    gradient: bool = False  #: an input that is the gradient of an output
    source: str = ""  #: what it is computed from when a graph is prepared; see _sources.py
    numbers: bool = False  #: an input: says something of the elements' numbers in the whole graph; see ranks.py
    halo_of: str = ""  #: an input: the rows of this other one that other ranks have

    def shape(self, extent: Callable[[str], int]) -> tuple[int, ...]:
        return ((extent(self.space),) if self.space is not None else ()) + self.dims

    def __str__(self) -> str:
        space = [self.space] if self.space is not None else []
        dims = [f"{axis} = {dim}" if axis else str(dim) for axis, dim in zip(self.axes, self.dims)]
        return f"{self.name}: {self.dtype}[{', '.join(space + dims)}]"


@dataclass(frozen=True)
class Space:
    name: str
    kind: str  #: "root": comes with a graph; "static": `extent` is compiled in; otherwise derived
    extent: int | None
    source: str = ""  #: what gives the extent of a root space; empty: the caller


@dataclass(frozen=True)
class Map:
    name: str
    domain: str  #: the space that it starts from: one number for each of its elements
    target: str
    kind: str  #: "root": comes with a graph; otherwise derived
    source: str = ""  #: what gives the targets of a root map; empty: the caller


@dataclass(frozen=True)
class Sparse:
    """A sparse input: the space of its entries, its two maps and its values (empty where they are not used)."""

    name: str
    entries: str
    row: str
    column: str
    value: str


@dataclass(frozen=True)
class Program:
    name: str
    inputs: tuple[str, ...]  #: inputs, parameters and states that it needs or updates
    needs: tuple[str, ...]  #: root spaces and maps
    updates: tuple[str, ...]  #: parameters and states that it writes in place
    outputs: tuple[Value, ...]


@dataclass(frozen=True)
class Description:
    name: str
    dtype: str
    spaces: dict[str, Space]
    maps: dict[str, Map]
    inputs: dict[str, Value]
    params: dict[str, Value]
    states: dict[str, Value]
    outputs: dict[str, Value]
    sparse: dict[str, Sparse]
    programs: dict[str, Program]
    embedded: frozenset[str]  #: parameters that are in the object
    integers: dict[str, np.ndarray]  #: what sources read of the object itself
    exported: bool  #: inputs and outputs go by the names that an exported program of PyTorch has
    document: dict[str, Any] = field(repr=False)  #: the whole description

    @property
    def roots(self) -> dict[str, Space]:
        return {name: space for name, space in self.spaces.items() if space.kind == "root"}

    @property
    def root_maps(self) -> dict[str, Map]:
        return {name: found for name, found in self.maps.items() if found.kind == "root"}

    def find(self, name: str) -> Value | None:
        """The input, parameter or state called so."""
        return self.inputs.get(name) or self.params.get(name) or self.states.get(name)


def _integers(item: dict[str, Any]) -> np.ndarray:
    # They may be long: nobody wants them in the document.
    return np.frombuffer(base64.b64decode(item.pop("base64")), "<i8").reshape(item["shape"]).copy()


def parse(text: bytes | str) -> Description:
    """Reads a description. Members that are not known are left in `document`."""
    document = json.loads(text)
    dtype = document["dtype"]

    def value(item: dict[str, Any]) -> Value:
        dims = tuple(item["dims"])
        axes = tuple(axis or "" for axis in item.get("axes", ()))
        return Value(
            item["name"],
            item.get("space"),
            dims,
            axes + ("",) * (len(dims) - len(axes)),
            item.get("dtype") or dtype,
            bool(item.get("optional", False)),
            bool(item.get("gradient", False)),
            item.get("source") or "",
            bool(item.get("numbers", False)),
            item.get("halo_of") or "",
        )

    def values(key: str) -> dict[str, Value]:
        return {item["name"]: value(item) for item in document.get(key, ())}

    def program(item: dict[str, Any]) -> Program:
        outputs = tuple(value(output) for output in item["outputs"])
        return Program(item["name"], tuple(item["inputs"]), tuple(item["needs"]), tuple(item["updates"]), outputs)

    def space(item: dict[str, Any]) -> Space:
        return Space(item["name"], item["kind"], item.get("extent"), item.get("source") or "")

    def map_(item: dict[str, Any]) -> Map:
        return Map(item["name"], item["from"], item["to"], item["kind"], item.get("source") or "")

    def sparse(item: dict[str, Any]) -> Sparse:
        return Sparse(item["name"], *(item.get(key) or "" for key in ("entries", "row", "column", "value")))

    return Description(
        name=document["name"],
        dtype=dtype,
        spaces={item["name"]: space(item) for item in document["spaces"]},
        maps={item["name"]: map_(item) for item in document["maps"]},
        inputs=values("inputs"),
        params=values("params"),
        states=values("states"),
        outputs=values("outputs"),
        sparse={item["name"]: sparse(item) for item in document.get("sparse_inputs", ())},
        programs={item["name"]: program(item) for item in document["programs"]},
        embedded=frozenset(
            item["name"]
            for group in ("params", "states")
            for item in document.get(group, ())
            if item.get("embedded")
        ),
        integers={item["name"]: _integers(item) for item in document.get("integers", ())},
        exported=bool(document.get("exported")),
        document=document,
    )
