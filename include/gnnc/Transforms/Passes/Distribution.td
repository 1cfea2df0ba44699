//===- Distribution.td - Ranks and their parts of a graph --*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_DISTRIBUTION
#define GNNC_TRANSFORMS_PASSES_DISTRIBUTION

include "mlir/Pass/PassBase.td"

def Distribute : Pass<"distribute", "::mlir::ModuleOp"> {
  let summary = "Make a program for ranks that have a part of the graph each";
  let description = [{
    The elements of root spaces are divided among ranks, together with those of spaces derived from them. A root space
    to which no root map leads goes along one of its maps (`along`, else the one along which most numbers are reduced):
    its elements are on the rank where that map leads. Other maps may lead to elements of other ranks. A value that is read through
    one is exchanged: its rows of a rank are followed by those that others have sent, or by those that are made here of
    what has fewer bytes. What is reduced along one is brought back in the same way, and what is reduced to shared or to
    a static space is combined over all ranks. A softmax with members on several ranks is split into the largest number
    and the sum of powers of each owner. A value that all ranks have is marked with `vary` where it meets one that is
    divided. Random numbers of elements are made of the elements' numbers in the whole graph, which are a further
    input. So are rows of the halo of inputs that do not change (`fixed`), and the elements' places, by which a maximum's gradient goes to the member that one process would take. Tuples of a
    distinct space that no map leads to a rank's own elements are copied to each rank with members of them. A static
    space in a union with divided ones is on the first rank there. Movements along `last` across ranks are made of
    others, and a filter or tuples that need the types of the halo's elements get a further root map. Errors are
    winners among elements of several ranks, random numbers on distinct spaces, and what is about copied tuples.

    Example: test/Transforms/Distribution/distribute.mlir
  }];
  let options = [ListOption<"along", "along", "std::string", "maps that root spaces go along">,
                 Option<"operationsPerByte", "operations-per-byte", "int64_t", "kOperationsPerExchangedByte",
                        "operations that one byte less between ranks is worth">,
                 ListOption<"fixed", "fixed", "std::string", "inputs whose rows of other ranks are an input, too">];
  let statistics = [Statistic<"numExchanged", "exchanged", "Values whose rows are exchanged">,
                    Statistic<"numFixed", "fixed", "Inputs that rows of the halo are given of">,
                    Statistic<"numRemade", "remade", "Values whose rows of the halo are made of others">,
                    Statistic<"numReturned", "returned", "Values that are brought back">,
                    Statistic<"numSplit", "split", "Softmaxes of members of several ranks">,
                    Statistic<"numCombined", "combined", "Values that are combined over all ranks">,
                    Statistic<"numVaried", "varied", "Values of all ranks that meet divided ones">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def ReadParts : Pass<"read-parts", "::mlir::ModuleOp"> {
  let summary = "Make sums that have one member reads";
  let description = [{
    A sum along the map from a union to one of its parts has one member for each element: it becomes a read along the
    injection of the part. A sum along an injection becomes a read along the map to the part. In programs for ranks,
    where own rows and those of other ranks make a union, such sums are what derivatives of exchanges begin with.

    Example: test/Transforms/Distribution/read-parts.mlir
  }];
  let statistics = [Statistic<"numRead", "read", "Sums that became reads">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitHaloSums : Pass<"split-halo-sums", "::mlir::ModuleOp"> {
  let summary = "Sum members that read own rows while those of other ranks are on their way";
  let description = [{
    A sum over members that read rows of a union of own elements and a halo becomes two: over the members that read own
    rows, and over the others, which are filters of the members. Only the second waits for a transfer. A sum to such a
    union becomes one to own elements and one to the halo, which goes first. The sums themselves are written and read
    once more, so this is done where an exchanged row is worth more operations (`operations-per-byte`, with one element
    of a halo for eight owners) than that, 16 for each byte of memory. The pipeline has it where a byte between ranks is
    worth more than by default, which is about GPUs of one machine.

    Not where a member's value is made of more than itself and what it reads, such as a weight of a softmax.

    Example: test/Transforms/Distribution/split-halo-sums.mlir
  }];
  let options = [Option<"operationsPerByte", "operations-per-byte", "int64_t", "kOperationsPerExchangedByte",
                        "operations that one byte less between ranks is worth">];
  let statistics = [Statistic<"numSplit", "split", "Sums that became two">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

#endif // GNNC_TRANSFORMS_PASSES_DISTRIBUTION
