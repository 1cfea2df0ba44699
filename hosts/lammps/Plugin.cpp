//===- Plugin.cpp - What LAMMPS loads -------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `plugin load gnncplugin.so`. The record and the functions are those of LAMMPS's manual, "Writing plugins"; its header
// for them is in no package that has the others.
//
//===----------------------------------------------------------------------===//

#include "PairGNNC.h"
#include "lammps.h"

extern "C" {

typedef void *(*gnnc_lammps_create)(void *lammps);

struct gnnc_lammps_plugin {
  const char *version, *style, *name, *info, *author;
  gnnc_lammps_create create;
  void *handle;
};

typedef void (*gnnc_lammps_register)(gnnc_lammps_plugin *plugin, void *lammps);

static void *createPair(void *lammps) { return new LAMMPS_NS::PairGNNC(static_cast<LAMMPS_NS::LAMMPS *>(lammps)); }

__attribute__((visibility("default"))) void lammpsplugin_init(void *lammps, void *handle, void *registration) {
  gnnc_lammps_plugin plugin = {static_cast<LAMMPS_NS::LAMMPS *>(lammps)->version,
                               "pair",
                               "gnnc",
                               "force fields that gnnc has compiled",
                               "the authors of gnnc",
                               createPair,
                               handle};
  reinterpret_cast<gnnc_lammps_register>(registration)(&plugin, lammps);
}
}
