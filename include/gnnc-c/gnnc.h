/*===- gnnc.h - The C interface of a compiled model -----------------*- C -*-===*\
|*
|* Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
|* See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A model compiled by gnnc is one shared object that needs glibc 2.17 or later, and nothing else. It exports one
|* function, `gnnc_model`, which returns a versioned table of functions. No call prints, exits or throws; each one
|* returns a status code and, if an error record was passed, fills it with one line saying what was expected and what
|* was found.
|*
|* Order of use: open -> prepare (once for each graph) -> workspace_size -> run (as often as wanted) -> free_graph ->
|* close. The caller owns all tensors and the workspace; `run` allocates nothing. Several threads may run one context
|* and one prepared graph at the same time, each with its own workspace.
|*
|* Mini-batches: prepare the first with capacities, then `update` for each other one. The workspace and recordings made
|* for the first serve all of them.
|*
|* A model has one or more programs; `describe` lists them. `forward` computes the outputs. Others, where the model was
|* compiled with them: `initialize` (writes all parameters and states, from the state `seed`), `train_step` (one step of
|* the optimiser, in place), `evaluate` (the metrics), `gradient` (outputs, and gradients from those of the outputs) and
|* its two halves `gradient.forward` and `gradient.backward`.
|*
|* Ranks: a model that was compiled with `--distributed` runs on several ranks (processes or threads, each with a
|* context of its own), each of which has a part of the graph (`gnnc partition`). They prepare theirs with
|* `prepare_part`, which is given the functions that move data between ranks, and then all run the same programs in the
|* same order. Parameters and states that are shared are the same bits on all ranks before and after each run. Such a
|* model may have further inputs, which `describe` marks with "numbers", on one rank alone too: `S.global`, for each
|* element of S its number in the whole graph, an integer in the memory of a floating-point number; and `S.order`, the
|* same as two floating-point numbers, number / 2^20 and what remains (of a static space: of 0, 1, 2, ...).
|*
|* `open` takes the best code for CPUs that the model has and the processor runs. The environment variable
|* GNNC_CPU_LEVEL (0: baseline, 3: x86-64-v3, 4: x86-64-v4, 256: SVE) says that nothing above that level is taken, to
|* test or compare the others.
|*
|* Whoever changes this header changes GNNC_ABI_VERSION, lib/Runtime and lib/Target/Package together.
|*
\*===----------------------------------------------------------------------===*/

#ifndef GNNC_C_GNNC_H
#define GNNC_C_GNNC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GNNC_ABI_VERSION 9u

typedef enum gnnc_status {
  GNNC_OK = 0,
  GNNC_INVALID_ARGUMENT = 1, /**< a null pointer, an unknown name, a wrong shape, dtype or count */
  GNNC_INVALID_GRAPH = 2,    /**< an index out of range, a negative extent, one over a capacity */
  GNNC_OUT_OF_MEMORY = 3,
  GNNC_UNSUPPORTED = 4, /**< this processor or device lacks what the object was compiled for; an extent of 2^31 - 1 or
                             more */
  GNNC_VERSION_MISMATCH = 5,
  GNNC_DEVICE_ERROR = 6,    /**< the driver of a device refused or failed; it says why */
  GNNC_COLLECTIVE_ERROR = 7 /**< ranks could not be reached or do not agree, or another one failed; says which call */
} gnnc_status;

/** Filled by a call that fails; owned by the caller. */
typedef struct gnnc_error {
  gnnc_status status;
  char message[508]; /**< one line, zero-terminated */
} gnnc_error;

/** The layout of DLPack's DLTensor, so that a pointer to one can be passed. Row-major; strides may be null (dense) or
    count elements. device_type is the context's: 1 is a CPU, 2 a CUDA device. Where a tensor has a row for each element
    of a space, several leading axes may stand for that of the elements: [batch, nodes, features] for
    [batch * nodes, features]. */
typedef struct gnnc_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code; /**< DLPack: 0 int, 1 uint, 2 float, 4 bfloat. `describe` gives a tensor's type */
  uint8_t dtype_bits;
  uint16_t dtype_lanes; /**< 1 */
  const int64_t *shape;
  const int64_t *strides;
  uint64_t byte_offset;
} gnnc_tensor;

/** A tensor and its name in the model; see `describe`. */
typedef struct gnnc_binding {
  const char *name;
  gnnc_tensor tensor;
} gnnc_binding;

/** Memory functions; `allocate` returns 64-byte aligned memory or null. Called by the threads that call the model. */
typedef struct gnnc_allocator {
  void *(*allocate)(size_t bytes, void *user);
  void (*release)(void *memory, size_t bytes, void *user);
  void *user;
} gnnc_allocator;

/** Memory functions for a device. `allocate` returns memory of the context's device, aligned to 256 bytes, that
    whatever is launched on `stream` from now on may use; or null. `release` is told of the stream that the memory was
    allocated for (which may be gone by then); what was launched there before may still be using it. Both are called by
    the threads that call the model, and must not call it. */
typedef struct gnnc_device_allocator {
  void *(*allocate)(size_t bytes, void *stream, void *user);
  void (*release)(void *memory, size_t bytes, void *stream, void *user);
  void *user;
} gnnc_device_allocator;

/** Has `body(data)` called by `threads` threads at once, of which the caller's is one, and returns when all of them
   have returned and what they wrote is seen. Fewer threads will do, but the caller's has to call it. `flags` is 0.
    GOMP_parallel is such a function: GNU's runtime of OpenMP has it, and LLVM's by the same name. */
typedef void (*gnnc_parallel)(void (*body)(void *data), void *data, unsigned threads, unsigned flags);

typedef struct gnnc_options {
  uint32_t struct_size;            /**< sizeof(gnnc_options) */
  int32_t threads;                 /**< threads of a run, including the caller's; 0: one for each processor */
  const gnnc_allocator *allocator; /**< null: malloc and free. Copied; used for memory of the host only */
  int32_t device_type;             /**< 0 or 1: the CPU; 2: a CUDA device */
  int32_t device_id;               /**< of the CUDA device, from 0 */
  /** 1: the context loads and starts nothing, so neither the device nor code for it is needed. `prepare` (of data on
      the host), `extent`, `graph_bytes`, `workspace_size` and `describe_graph` answer as they would on the device (a
      GPU is assumed to have 132 multiprocessors). Every call that would run or allocate something returns
      GNNC_UNSUPPORTED. */
  int32_t plan_only;
  int32_t reserved; /**< 0 */
  /** Where memory of the device for prepared graphs comes from; null: from the driver. Copied. Not for a CPU. */
  const gnnc_device_allocator *device_allocator;
  /** The threads of the program, for a context of the CPU (others take no notice); null: the context starts its own. A
     program that has threads already, which wait for work by spinning as those of OpenMP do, keeps the processors from
     others. */
  gnnc_parallel parallel;
} gnnc_options;

/** Extent or capacity of a root space, or the expected extent of a static one. */
typedef struct gnnc_extent {
  const char *space;
  int64_t extent;
} gnnc_extent;

typedef enum gnnc_index_format {
  GNNC_INDEX_EACH = 0, /**< one target for each element of the map's domain (a row of COO) */
  GNNC_INDEX_ROWS = 1, /**< CSR row pointers: target j owns elements [data[j], data[j+1]) */
  GNNC_INDEX_ON_DEVICE = 16
} gnnc_index_format;

/** The data of one root map; not kept after prepare returns. The data is on the host, or, with GNNC_INDEX_ON_DEVICE
    added to the format, on the context's device; there it must have been written already, or by what was launched on
    the description's stream, and be aligned to the size of its numbers. */
typedef struct gnnc_index {
  const char *map;
  const void *data;
  int64_t length; /**< elements of `data` */
  int32_t bits;   /**< 32 or 64, signed */
  int32_t format; /**< gnnc_index_format */
} gnnc_index;

typedef struct gnnc_graph_desc {
  uint32_t struct_size; /**< sizeof(gnnc_graph_desc) */
  int32_t num_extents;
  const gnnc_extent *extents;
  int32_t num_indices;
  const gnnc_index *indices;
  /** The largest extent that each root space may have; a space that is not listed keeps its extent. If there are any
      capacities, `update` can give the graph other extents, and workspaces, plans and choices are made for the
      capacities. */
  int32_t num_capacities;
  const gnnc_extent *capacities;
  /** The contents of a file that `gnnc tune` wrote for this object, zero-terminated; null: none. If it contains a graph
      like this one (the same kind of device, and no extent, or capacity if there are any, that differs by more than a
      quarter), its choices are used. These may be other kernels, which add in another order, so results may differ in
      their last bits from those without the file. `prepare` returns GNNC_VERSION_MISMATCH if the file was made for
      another compilation of the model, and GNNC_INVALID_ARGUMENT if it is not such a file. */
  const char *tuning;
  /** A stream of the device, in whose order the graph is prepared; null: one of the context's own. (The default stream
      is CU_STREAM_LEGACY, 1.) The call waits for the stream where the host must know something. A context that was
      opened with a device_allocator, and whose graphs are all prepared on streams of the caller, has no stream of its
      own. */
  void *stream;
} gnnc_graph_desc;

/** How ranks reach each other: the caller's functions, over MPI, NCCL, sockets or shared memory. All ranks call the
    same ones in the same order with sizes that fit, one after the other, from the thread that calls the model or
    where `device_type` says so from one of the graph's. A function returns 0, or anything else after it has filled
    `error`; then the call of the model fails with GNNC_COLLECTIVE_ERROR and a message that names the step. It must
    come back in the end: noticing that a rank is gone, or waits for too long, is up to it. After a failure the ranks
    are no longer in step, and the graph may only be freed. */
typedef struct gnnc_collectives {
  uint32_t struct_size; /**< sizeof(gnnc_collectives) */
  int32_t rank, size;   /**< 0 <= rank < size */
  /** Where the memory is that `exchange` and `gather` are given. 1: on the host; they have done their work when they
      return, and a context of a GPU copies rows to the host and back. A thread of the graph may call `exchange` while
      the run's own threads compute, but no two of these functions are called at once. 2: on the context's device; they
      enqueue their work on `stream`, which may be the run's or one of the graph's own. */
  int32_t device_type;
  void *user; /**< must outlive the graph */
  /** Rows of `row_bytes` each: the first send_counts[0] of `send` go to rank 0, the next send_counts[1] to rank 1, and
      so on; `receive` gets those of rank 0, then those of rank 1, and so on. A rank's own rows are among them. `send`
      may be written once the work is done. Memory may be null where there are no rows. */
  gnnc_status (*exchange)(void *user, const void *send, const int64_t *send_counts, void *receive,
                          const int64_t *receive_counts, int64_t row_bytes, void *stream, gnnc_error *error);
  /** The `bytes` at `own` of all ranks, by rank, at `all`. */
  gnnc_status (*gather)(void *user, const void *own, void *all, int64_t bytes, void *stream, gnnc_error *error);
  /** The same with memory of the host, waited for: no rank returns before all have called. `bytes` may be 0. */
  gnnc_status (*gather_host)(void *user, const void *own, void *all, int64_t bytes, gnnc_error *error);
} gnnc_collectives;

/** How many elements of a space are for, or of, each rank: `size` of them, which add up to its extent. A model has two
    such spaces, `S.halo` and `S.send`, for a space S of which elements of other ranks are read. */
typedef struct gnnc_row_counts {
  const char *space;
  const int64_t *counts;
} gnnc_row_counts;

typedef struct gnnc_part_desc {
  uint32_t struct_size; /**< sizeof(gnnc_part_desc) */
  int32_t num_counts;
  const gnnc_row_counts *counts; /**< not kept after prepare_part returns */
  /** Copied. In a context that was opened with plan_only the functions may be null: nothing is agreed then. */
  const gnnc_collectives *collectives;
} gnnc_part_desc;

typedef struct gnnc_call_desc {
  uint32_t struct_size; /**< sizeof(gnnc_call_desc) */
  int32_t num_inputs;
  const char *program; /**< null: `forward` */
  /** Names of the inputs, parameters and states that will be given; what `run` says of them holds here too. */
  const char *const *inputs;
  /** Names of the outputs that are wanted. What only others need is not computed, and they need no memory of the
      caller's. (Parameters and states that the program updates are always wanted.) */
  const char *const *outputs;
  int32_t num_outputs;
  int32_t num_later;
  /** For a program that another one goes on from in the same workspace, as `gradient.backward` does from
      `gradient.forward`: names of the outputs that are wanted of that one; null: all. */
  const char *const *later;
} gnnc_call_desc;

typedef struct gnnc_context gnnc_context;
typedef struct gnnc_graph gnnc_graph;
typedef struct gnnc_recording gnnc_recording;
/** A program on a prepared graph with everything decided but the addresses of its tensors. */
typedef struct gnnc_call gnnc_call;

typedef struct gnnc_api {
  uint32_t abi_version; /**< GNNC_ABI_VERSION of the object */
  uint32_t struct_size; /**< sizeof(gnnc_api) of the object */

  /** The model's own description as JSON (inputs, parameters, states, outputs, spaces, maps, kernels, memory plan). The
      object owns the string. */
  const char *(*describe)(size_t *length);

  /** Chooses the code for this processor and starts its threads if it has any, or loads the code for a device.
     `options` may be null. GNNC_UNSUPPORTED if there is no such device, no driver for it, or no code. */
  gnnc_status (*open)(const gnnc_options *options, gnnc_context **context, gnnc_error *error);
  void (*close)(gnnc_context *context);

  /** Validates and indexes a graph; this is done on the context's device if the graph is large or already there, and is
      complete when the call returns. The description itself is on the host. Extents and maps that the model does not
      use are ignored. Whatever `forward` does not need may be left out; programs that need it can then not be run on
      this graph. A graph may be freed, but not used, after its context was closed. The context keeps up to a sixteenth
      of the device's memory for the next graph, and releases it if an allocation fails. */
  gnnc_status (*prepare)(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **graph, gnnc_error *error);
  /** Frees a graph. All runs on it must have finished. */
  void (*free_graph)(gnnc_graph *graph);
  /** The extent of any space of the model in a prepared graph, including derived spaces; -1 for an unknown name. */
  int64_t (*extent)(const gnnc_graph *graph, const char *space);
  /** Bytes held by a prepared graph, on the host and on the device. */
  size_t (*graph_bytes)(const gnnc_graph *graph);

  /** Bytes of 64-byte aligned workspace that one `run` of a program (null: `forward`) on this graph needs. */
  gnnc_status (*workspace_size)(const gnnc_graph *graph, const char *program, size_t *bytes, gnnc_error *error);

  /** Runs a program (null: `forward`). Inputs, parameters and states are bound by name in `inputs`; every one the
      program needs must be there, except optional inputs, and parameters and states that the object has values for
      (see `embedded`) and the program does not update. Names that only other programs need are ignored,
      unknown ones are an error. Parameters and states that the program updates are written in place. Outputs must not
      overlap anything else that is passed, and may hold intermediate values until the program has finished; data need
      not be aligned. `workspace` may be null: then it is allocated and released by this call. `gradient.backward`
      continues with what `gradient.forward` left in the same workspace, so both must be given one, and the same inputs;
      outputs of `gradient.forward` that it reads are bound again. On a device, data and workspace are memory of the
      device, at multiples of 16 bytes (256 the workspace, which must be given). Kernels are launched on `stream` (a
      CUstream; null: the default stream), and the call does not wait for them. On a CPU `stream` is null. */
  gnnc_status (*run)(gnnc_context *context, const gnnc_graph *graph, const char *program, const gnnc_binding *inputs,
                     int32_t num_inputs, const gnnc_binding *outputs, int32_t num_outputs, void *workspace,
                     size_t workspace_bytes, void *stream, gnnc_error *error);

  /** Allocates memory of the context's device (of the host for a CPU), aligned to 256 bytes. A caller that manages
      memory of the device itself needs none of these four functions. */
  gnnc_status (*allocate)(gnnc_context *context, size_t bytes, void **memory, gnnc_error *error);
  /** Null does nothing. */
  void (*release)(gnnc_context *context, void *memory);
  /** Copies between the host (device type 1) and the context's device, on `stream`; `from` may be changed once the
      stream has completed the copy. */
  gnnc_status (*copy)(gnnc_context *context, void *to, int32_t to_device_type, const void *from,
                      int32_t from_device_type, size_t bytes, void *stream, gnnc_error *error);
  /** Waits for everything that was launched on `stream`, and reports what failed. */
  gnnc_status (*synchronize)(gnnc_context *context, void *stream, gnnc_error *error);

  /** Creates a stream of the device, ordered with the default stream; null on a CPU. */
  gnnc_status (*create_stream)(gnnc_context *context, void **stream, gnnc_error *error);
  /** Null does nothing. */
  void (*destroy_stream)(gnnc_context *context, void *stream);

  /** From now on, whatever this thread launches on `stream` (not the default stream) is recorded and not executed: any
      number of runs, of any programs, and copies on the device. The driver calls this stream capture; a caller that
      uses CUDA itself may also capture calls of `run` on its own. */
  gnnc_status (*begin_recording)(gnnc_context *context, void *stream, gnnc_error *error);
  /** Ends the recording and makes it ready for `replay`. `*recording` is null, or an earlier recording of the same
      calls for another graph or with other memory, which is then updated; that is faster. */
  gnnc_status (*end_recording)(gnnc_context *context, void *stream, gnnc_recording **recording, gnnc_error *error);
  /** Launches everything that was recorded on `stream`. Graphs, workspaces and tensors must still be where they were.
      Runs on graphs with capacities use the current state of these graphs; their tensors need memory for the
      capacities. A recording of such graphs may be replayed by one thread at a time, and must have been made with
      begin_recording, not by the caller's own capture. */
  gnnc_status (*replay)(gnnc_context *context, gnnc_recording *recording, void *stream, gnnc_error *error);
  /** Frees a recording; to be called before its context is closed. Null does nothing. */
  void (*free_recording)(gnnc_context *context, gnnc_recording *recording);

  /** Replaces a graph that was prepared with capacities by another one, whose extents do not exceed the capacities
      (GNNC_INVALID_GRAPH otherwise). `desc` has no capacities of its own. Workspaces and recordings remain valid. All
      runs on the graph must have finished. After a failure the graph is unchanged. */
  gnnc_status (*update)(gnnc_context *context, gnnc_graph *graph, const gnnc_graph_desc *desc, gnnc_error *error);

  /** What was chosen for a prepared graph and why, as JSON: which of the object's code runs
      ("code": "x86-64-v4", "sm_90", "PTX"), functions with their costs, maps that share an index,
      worklists of maps, and which schedule of each sweep has how many items. Writes at most `capacity` bytes including
      the terminating zero, and sets `length` to the full length without it. `text` may be null if `capacity` is 0. */
  gnnc_status (*describe_graph)(const gnnc_graph *graph, char *text, size_t capacity, size_t *length,
                                gnnc_error *error);

  /** The values that the object itself has for a parameter or state (`gnnc compile --embed`): a dense tensor of the
      host, which the object owns and nobody may write to. `tensor->data` is null if there are none. `run` takes them
      where the caller binds nothing; what the caller binds comes first. On a device, `open` copies all of them there.
      Training continues from them if they are copied over what `initialize` has written. GNNC_INVALID_ARGUMENT if the
      model has no such parameter or state. */
  gnnc_status (*embedded)(const char *name, gnnc_tensor *tensor, gnnc_error *error);

  /** `prepare` for one rank's part of a graph. All ranks call it, with the same model; they agree on what is to be
     equal on all of them, so it fails on all if it fails on one, and the others say which rank it was. With ranks there
     are neither capacities nor tunings (GNNC_UNSUPPORTED), and one run of the graph at a time. `prepare` does the same
     for one rank alone, whose halos are empty. */
  gnnc_status (*prepare_part)(gnnc_context *context, const gnnc_graph_desc *desc, const gnnc_part_desc *part,
                              gnnc_graph **graph, gnnc_error *error);

  /** Decides everything about running a program on a graph but the addresses, for callers that run it again and again:
      looks up names, and leaves out the steps that nothing wanted needs. `*workspace_bytes` becomes what a run of the
      call needs, which may be more than `workspace_size` says; of calls that share a workspace the most counts. A call
      may be run by several threads at once. It stays good when its graph is updated, and must not be run when that was
      freed. GNNC_INVALID_ARGUMENT for unknown names, and if something is missing that the needed steps read. */
  gnnc_status (*make_call)(const gnnc_graph *graph, const gnnc_call_desc *desc, gnnc_call **call,
                           size_t *workspace_bytes, gnnc_error *error);
  /** As `run`, with the addresses of the inputs and then of the outputs that the call was made for, in that order. Of
      these tensors the caller knows that they are dense and have the right shapes, types and device; null, alignment
      and overlap are checked. What is run with the same addresses again and again on a GPU is recorded, which takes
      memory of the driver's, and launched as a whole from then on. */
  gnnc_status (*run_call)(gnnc_context *context, const gnnc_call *call, void *const *data, void *workspace,
                          size_t workspace_bytes, void *stream, gnnc_error *error);
  /** Before or after its graph is freed. Null does nothing. */
  void (*free_call)(gnnc_call *call);
} gnnc_api;

/** The one exported symbol of a model. */
typedef const gnnc_api *(*gnnc_model_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* GNNC_C_GNNC_H */
