# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chemical elements by symbol and number."""

from __future__ import annotations

from ._errors import Error

SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo "
    "Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl "
    "Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
).split()


def atomic_number(element: str | int) -> int:
    """Of a symbol such as 'O', or of a number. Raises `Error` for others."""
    if isinstance(element, str) and element in SYMBOLS:
        return SYMBOLS.index(element) + 1
    if isinstance(element, int) and not isinstance(element, bool) and 1 <= element <= len(SYMBOLS):
        return element
    raise Error(f"expected a chemical element, such as 'O' or 8, found {element!r}")
