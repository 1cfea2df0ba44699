/*===- gnnc_nccl.h - Collectives over NCCL --------------------------*- C -*-===*\
|*
|* Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
|* See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Fills gnnc_collectives with NCCL, for ranks that have a CUDA device each. Rows move between the devices' memories, in
|* the order of the stream. The library `gnnc_nccl` has these functions; it loads libnccl.so.2 and the driver when it is
|* asked to.
|*
\*===----------------------------------------------------------------------===*/

#ifndef GNNC_C_GNNC_NCCL_H
#define GNNC_C_GNNC_NCCL_H

#include "gnnc-c/gnnc.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One communicator; to be closed. May be used by one thread at a time. */
typedef struct gnnc_nccl gnnc_nccl;

/** Called by all ranks of `hosts`, whose gather_host is used now and later; it must outlive the result. `device`: the
    number of this rank's CUDA device. A collective that is not done after `timeout` seconds (0: never) is aborted, and
   so are all later ones. GNNC_UNSUPPORTED, on all ranks, if one has no NCCL or no driver. */
gnnc_status gnnc_nccl_open(const gnnc_collectives *hosts, int32_t device, double timeout, gnnc_nccl **nccl,
                           gnnc_error *error);
/** What `prepare_part` takes; belongs to `nccl`. Runs can be recorded; replays are then not watched. */
const gnnc_collectives *gnnc_nccl_collectives(const gnnc_nccl *nccl);
/** Whether all collectives so far that are done have moved what they should; to be asked after a stream was waited for,
    since an aborted collective ends like any other there. */
gnnc_status gnnc_nccl_check(gnnc_nccl *nccl, gnnc_error *error);
/** Null does nothing. */
void gnnc_nccl_close(gnnc_nccl *nccl);

#ifdef __cplusplus
}
#endif

#endif /* GNNC_C_GNNC_NCCL_H */
