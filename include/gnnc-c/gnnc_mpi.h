/*===- gnnc_mpi.h - Collectives over MPI ----------------------------*- C -*-===*\
|*
|* Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
|* See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Fills gnnc_collectives with MPI, for the ranks of a communicator. The library `gnnc_mpi` has these functions and is
|* built where MPI is installed; compiled models and gnnc itself do not need it. Rows are taken from and put into memory
|* of the host.
|*
\*===----------------------------------------------------------------------===*/

#ifndef GNNC_C_GNNC_MPI_H
#define GNNC_C_GNNC_MPI_H

#include "gnnc-c/gnnc.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The collectives of one communicator; to be closed. */
typedef struct gnnc_mpi gnnc_mpi;

/** `communicator` points to an MPI_Comm, which is duplicated; null: all processes of the job, and MPI is initialised
    unless it is already, which has to be for MPI_THREAD_SERIALIZED: rows move while kernels run, by another thread. A
    call fails that has waited for `timeout` seconds (0: for ever). Called by all its ranks. */
gnnc_status gnnc_mpi_open(const void *communicator, double timeout, gnnc_mpi **mpi, gnnc_error *error);
/** What `prepare_part` takes; belongs to `mpi`. */
const gnnc_collectives *gnnc_mpi_collectives(const gnnc_mpi *mpi);
/** Called by all ranks, after the last graph was freed. Null does nothing. */
void gnnc_mpi_close(gnnc_mpi *mpi);
/** Ends all processes of the job with this status. */
void gnnc_mpi_abort(gnnc_mpi *mpi, int status);

#ifdef __cplusplus
}
#endif

#endif /* GNNC_C_GNNC_MPI_H */
