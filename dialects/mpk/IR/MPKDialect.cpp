//===- MPKDialect.cpp - Registration and attributes of mpk ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/MPK.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpk;

#include "dialects/mpk/IR/MPKDialect.cpp.inc"
#include "dialects/mpk/IR/MPKEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mpk/IR/MPKAttrs.cpp.inc"

Attribute AccessAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return Attribute();
  FailureOr<AccessKind> kind = FieldParser<AccessKind>::parse(parser);
  if (failed(kind))
    return Attribute();
  SymbolRefAttr map;
  if (OptionalParseResult found = parser.parseOptionalAttribute(map); found.has_value() && failed(*found))
    return Attribute();
  FloatAttr fill;
  if (succeeded(parser.parseOptionalKeyword("fill"))) {
    APFloat number(APFloat::IEEEdouble());
    if (parser.parseFloat(number.getSemantics(), number))
      return Attribute();
    fill = parser.getBuilder().getFloatAttr(parser.getBuilder().getF64Type(), number);
  }
  if (map && !isa<FlatSymbolRefAttr>(map)) {
    parser.emitError(parser.getCurrentLocation(), "expected the name of a map, found ") << map;
    return Attribute();
  }
  if (parser.parseGreater())
    return Attribute();
  return AccessAttr::get(parser.getContext(), *kind, cast_or_null<FlatSymbolRefAttr>(map), fill);
}

void AccessAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyAccessKind(getKind());
  if (getMap())
    printer << " " << getMap();
  if (getFill()) {
    printer << " fill ";
    printer.printFloat(getFill().getValue());
  }
  printer << ">";
}

void MPKDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mpk/IR/MPKAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mpk/IR/MPKOps.cpp.inc"
      >();
}
