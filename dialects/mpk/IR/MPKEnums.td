//===- MPKEnums.td - Enums of the mpk dialect -------------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_ENUMS
#define GNNC_MPK_ENUMS

include "mlir/IR/EnumAttr.td"

def MPK_AccessKind
    : I32EnumAttr<"AccessKind", "which row of a value an element of a sweep sees",
                  [I32EnumAttrCase<"Owner", 0, "owner">, I32EnumAttrCase<"Member", 1, "member">,
                   I32EnumAttrCase<"GatherOwner", 2, "gather_owner">,
                   I32EnumAttrCase<"GatherMember", 3, "gather_member">, I32EnumAttrCase<"Shared", 4, "shared">]> {
  let cppNamespace = "::gnnc::mpk";
}

def MPK_PlaceKind
    : I32Enum<"PlaceKind", "whose memory holds a kernel's result",
              [I32EnumCase<"Arena", 0, "arena">, I32EnumCase<"Result", 1, "result">, I32EnumCase<"None", 2, "none">]> {
  let cppNamespace = "::gnnc::mpk";
}

#endif // GNNC_MPK_ENUMS
