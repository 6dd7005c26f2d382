/* One exchange of device memory between two ranks: `mpi_program CASE`. A case that ends in `-race` lacks the wait that its twin has.
 * Compiled by test_mpi.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long CUdeviceptr;
typedef void *CUstream;
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuMemAlloc_v2(CUdeviceptr *, size_t);
extern int cuStreamCreate(CUstream *, unsigned), cuStreamSynchronize(CUstream), cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream);
extern int cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t), cuCtxSynchronize(void);

#define CHECK(call) do { int code = (call); if (code) { fprintf(stderr, "%s: %d\n", #call, code); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
enum { N = 1024 };

static CUstream stream;
static int rank, size, races;

/* Whether the case is this one. */
static int is(const char *given, const char *name) {
    size_t length = strlen(name);
    return strncmp(given, name, length) == 0 && (given[length] == 0 || strcmp(given + length, "-race") == 0);
}

/* Device memory with pending work that fills it with a number. */
static CUdeviceptr filled(unsigned value) {
    CUdeviceptr memory;
    CHECK(cuMemAlloc_v2(&memory, 4 * N));
    CHECK(cuMemsetD32Async(memory, value, N, stream));
    return memory;
}

/* The wait that the planted errors lack. */
static void ready(void) { if (!races) CHECK(cuStreamSynchronize(stream)); }

/* Whether all elements have a value; `apart` of them lie between two that are compared. */
static void expect(CUdeviceptr memory, int value, int apart) {
    static int host[N];
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(host, memory, 4 * N));
    for (int i = 0; i < N; i += apart)
        if (!races && host[i] != value) { fprintf(stderr, "element %d is %d, not %d\n", i, host[i], value); MPI_Abort(MPI_COMM_WORLD, 4); }
}

int main(int count, char **arguments) {
    const char *test = count > 1 ? arguments[1] : "";
    void *context;
    races = strstr(test, "-race") != NULL;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 1));
    CUdeviceptr sent = filled(7 + rank), got = filled(1);
    void *from = (void *)sent, *to = (void *)got;
    int other = 1 - rank;
    MPI_Request requests[2];
    if (is(test, "send")) {
        /* Rank 0 sends, and rank 1 receives. */
        ready();
        if (rank == 0) CHECK(MPI_Send(from, N, MPI_INT, 1, 0, MPI_COMM_WORLD));
        else CHECK(MPI_Recv(to, N, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank == 1) expect(got, 7, 1);
    } else if (is(test, "isend") || is(test, "waitsome") || is(test, "test")) {
        /* The error: the buffers are used before the requests are waited for. */
        CHECK(cuStreamSynchronize(stream));
        CHECK(MPI_Irecv(to, N, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]));
        CHECK(MPI_Isend(from, N, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]));
        if (races) CHECK(cuMemsetD32Async(sent, 0, N, stream));
        if (is(test, "isend")) {
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        } else if (is(test, "test")) {
            for (int done = 0; !done;) CHECK(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
        } else {
            for (int done, indices[2], left = 2; left > 0; left -= done) CHECK(MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE));
        }
        CHECK(cuMemsetD32Async(sent, 0, N, stream));
        expect(got, 7 + other, 1);
    } else if (is(test, "irecv")) {
        /* The error: the received data are read before the request is waited for. */
        CHECK(cuStreamSynchronize(stream));
        CHECK(MPI_Irecv(to, N, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]));
        if (races) expect(got, 0, 1);
        CHECK(MPI_Send(from, N, MPI_INT, other, 0, MPI_COMM_WORLD));
        CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        expect(got, 7 + other, 1);
    } else if (is(test, "persistent")) {
        CHECK(cuStreamSynchronize(stream));
        CHECK(MPI_Recv_init(to, N, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]));
        CHECK(MPI_Send_init(from, N, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]));
        for (int turn = 0; turn < 2; turn++) {
            CHECK(cuMemsetD32Async(sent, 7 + rank + turn, N, stream));
            ready();
            CHECK(MPI_Startall(2, requests));
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            expect(got, 7 + other + turn, 1);
        }
        CHECK(MPI_Request_free(&requests[0]));
        CHECK(MPI_Request_free(&requests[1]));
    } else if (is(test, "allreduce")) {
        ready();
        CHECK(MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        expect(got, 15, 1);
    } else if (is(test, "in-place")) {
        ready();
        CHECK(MPI_Allreduce(MPI_IN_PLACE, from, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        expect(sent, 15, 1);
    } else if (is(test, "bcast")) {
        ready();
        CHECK(MPI_Bcast(from, N, MPI_INT, 0, MPI_COMM_WORLD));
        expect(sent, 7, 1);
    } else if (is(test, "gatherv")) {
        int counts[2] = {N / 2, N / 2}, places[2] = {N / 2, 0};
        ready();
        CHECK(MPI_Gatherv(from, N / 2, MPI_INT, to, counts, places, MPI_INT, 1, MPI_COMM_WORLD));
        if (rank == 1) expect(got, 8, N); /* rank 1 itself is the first */
    } else if (is(test, "column")) {
        /* Every fourth element is exchanged. The twin writes the elements between them meanwhile. */
        MPI_Datatype column;
        CHECK(MPI_Type_vector(N / 4, 1, 4, MPI_INT, &column));
        CHECK(MPI_Type_commit(&column));
        CHECK(cuStreamSynchronize(stream));
        CHECK(MPI_Irecv(to, 1, column, other, 0, MPI_COMM_WORLD, &requests[0]));
        CHECK(MPI_Isend(from, 1, column, other, 0, MPI_COMM_WORLD, &requests[1]));
        extern int cuMemsetD2D32Async(CUdeviceptr, size_t, unsigned, size_t, size_t, CUstream);
        CHECK(cuMemsetD2D32Async(got + (races ? 0 : 4), 16, 3, 1, N / 4, stream));
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        expect(got, 7 + other, 4);
        CHECK(MPI_Type_free(&column));
    } else if (is(test, "nobody")) {
        /* A rank without a neighbour sends nothing, so its pending work does not matter. The error has a neighbour. */
        int partner = races ? other : MPI_PROC_NULL;
        CHECK(MPI_Sendrecv(from, N, MPI_INT, partner, 0, to, N, MPI_INT, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (is(test, "host")) {
        /* Memory of the host is no business of the driver. */
        static int host[N];
        CHECK(MPI_Allreduce(MPI_IN_PLACE, host, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    } else {
        fprintf(stderr, "no such case: %s\n", test);
        return 2;
    }
    CHECK(cuCtxSynchronize());
    MPI_Finalize();
    return 0;
}
