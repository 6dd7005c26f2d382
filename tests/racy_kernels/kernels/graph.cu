// Traversals of a graph of 64 vertices, each with edges to two others. One thread works for each vertex.
#include <cooperative_groups.h>

constexpr int VERTICES = 64;

__device__ int neighbour(int vertex, int edge) { return (edge ? vertex * 5 + 1 : vertex + 1) % VERTICES; }

// Degrees of the vertices that edges lead to.
// racy: out
// grid: 2 x 32
// out: np.bincount([neighbour(v, e) for v in range(64) for e in (0, 1)], minlength=64)
KERNEL(degrees_without_atomics) {
    for (int edge = 0; edge < 2; ++edge) {
        int target = neighbour(I, edge);
        CLEAN(atomicAdd(&out[target], 1);) RACY(out[target] += 1;)  // races
    }
}

// Breadth-first search, push: all vertices of the frontier store the same level into their neighbours.
// strict: work; all writes have the same value
// grid: 2 x 32
// work: [any(t % 8 == 0 and n == v for t in range(64) for n in (neighbour(t, 0), neighbour(t, 1))) for v in range(64)]
KERNEL(levels_pushed_plainly) {
    if (I % 8 != 0) return;
    for (int edge = 0; edge < 2; ++edge) {
        int target = neighbour(I, edge) RACY(/ 4 * 4);
        CLEAN(atomicExch(&work[target], 1);) RACY(work[target] = 1;)  // races
    }
}

// Breadth-first search, push: a vertex is visited if a plain read says that it has no level yet.
// racy: out
// grid: 1 x 64
// out: bfs_levels()
KERNEL(visited_by_plain_check) {
    for (int level = 1; level < 12; ++level) {
        bool frontier = level == 1 ? T == 0 : out[T] == level - 1;
        __syncthreads();
        if (frontier) {
            for (int edge = 0; edge < 2; ++edge) {
                int target = neighbour(T, edge);
                CLEAN(if (target != 0) atomicCAS(&out[target], 0, level);)
                RACY(if (target != 0 && out[target] == 0) out[target] = level;)  // races
            }
        }
        __syncthreads();
    }
}

// Breadth-first search, pull: a vertex reads the levels of its neighbours, which others write in the same round.
// racy: data
// grid: 1 x 64
// out: pulled_levels(3)
KERNEL(levels_pulled_in_place) {
    data[T] = data[T + 64] = T == 0;
    __syncthreads();
    for (int round = 0; round < 3; ++round) {
        int *from = data + round % 2 * 64, *to = CLEAN(data + (1 - round % 2) * 64) RACY(from);
        int level = max(from[T], max(from[neighbour(T, 0)], from[neighbour(T, 1)]));  // races
        to[T] = level ? level + 1 : 0;                                                // races
        __syncthreads();
    }
    out[T] = data[64 + T];
}

// Connected components: labels are pushed to neighbours, as a minimum.
// racy: data
// grid: 1 x 64
// out: np.zeros(64)
KERNEL(labels_pushed_without_atomics) {
    data[T] = T;
    __syncthreads();
    for (int round = 0; round < 64; ++round) {
        int own = CLEAN(atomicAdd(&data[T], 0)) RACY(data[T]);  // races
        for (int edge = 0; edge < 2; ++edge) {
            int *target = &data[neighbour(T, edge)];
            CLEAN(atomicMin(target, own);) RACY(if (*target > own) *target = own;)  // races
        }
        __syncthreads();
    }
    out[T] = data[T];
}

// Connected components: the label is read by a plain load, and written by atomic operations of other threads.
// racy: data
// grid: 2 x 32
// data: pushed_minima(x)
KERNEL(label_read_plainly) {
    int own = CLEAN(in[I]) RACY(data[I]);                                          // races
    for (int edge = 0; edge < 2; ++edge) atomicMin(&data[neighbour(I, edge)], own);  // races
}

// Pointer jumping: each vertex reads its parent's parent, in place.
// racy: parent
// grid: 1 x 64
// out: np.maximum(np.arange(64) - 8, 0)
KERNEL(pointer_jumping_in_place) {
    __shared__ int parent[64];
    parent[T] = max(T - 1, 0);
    __syncthreads();
    for (int step = 0; step < 3; ++step) {
        int next = parent[parent[T]];  // races
        CLEAN(__syncthreads();)
        parent[T] = next;  // races
        __syncthreads();
    }
    out[T] = parent[T];
}

// Shortest paths: an edge is relaxed by a comparison and a store.
// racy: data
// grid: 2 x 32
// data: relaxed_distances(x)
KERNEL(plain_relaxation) {
    for (int edge = 0; edge < 2; ++edge) {
        int distance = in[I] + 1, *target = &data[neighbour(I, edge)];
        CLEAN(atomicMin(target, distance);) RACY(if (*target > distance) *target = distance;)  // races
    }
}

// A page's rank is pushed to the pages that it links to.
// racy: out
// grid: 2 x 32
// out: np.bincount([neighbour(v, e) for v in range(64) for e in (0, 1)], [x[v] for v in range(64) for e in (0, 1)])
KERNEL(rank_pushed_plainly) {
    for (int edge = 0; edge < 2; ++edge) {
        CLEAN(atomicAdd(&out[neighbour(I, edge)], in[I]);) RACY(out[neighbour(I, edge)] += in[I];)  // races
    }
}

// A page pulls the ranks of the pages that it links to, and stores its own into the same array.
// racy: data
// grid: 2 x 32 cooperative
// data: [x[neighbour(v, 0)] + x[neighbour(v, 1)] for v in range(64)]
KERNEL(rank_pulled_in_place) {
    int rank = data[neighbour(I, 0)] + data[neighbour(I, 1)];  // races
    CLEAN(cooperative_groups::this_grid().sync();)
    data[I] = rank;  // races
}

// A data-driven work list: vertices are appended, and the list's length is not counted atomically.
// racy: work, out
// grid: 2 x 32
// work: [(x[:64] < 32).sum()]
KERNEL(work_list_with_plain_length) {
    if (in[I] >= 32) return;
    CLEAN(int slot = atomicAdd(&work[0], 1);) RACY(int slot = work[0]; work[0] = slot + 1;)  // races
    out[slot] = I;  // races
}

// A vertex enters the work list once: its mark is checked and then set.
// racy: data
// grid: 2 x 32
// out: [64]
KERNEL(vertex_listed_twice) {
    int *marks = data + 512;
    for (int edge = 0; edge < 2; ++edge) {
        int target = neighbour(I, edge);
        CLEAN(bool first = atomicExch(&marks[target], 100) != 100;)
        RACY(bool first = marks[target] != 100; marks[target] = 100 + I % 2;)  // races
        if (first) atomicAdd(&out[0], 1);
    }
}

// A topology-driven round sets a flag if anything has changed; all threads set the same value.
// strict: work; all writes have the same value
// grid: 2 x 32
// work: [1]
KERNEL(changed_flag) {
    if (in[I] > in[neighbour(I, 0)]) CLEAN(atomicOr(&work[0], 1);) RACY(work[0] = 1;)  // races
}

// The flag of a round is set back by one thread, while others already set it in the next round.
// racy: changed
// grid: 1 x 64
// out: [4]
KERNEL(changed_flag_set_back_late) {
    __shared__ int changed;
    if (T == 0) changed = 0;
    __syncthreads();
    int rounds = 0;
    for (int round = 0; round < 4; ++round) {
        if (in[T] > round) atomicOr(&changed, 1);  // races
        __syncthreads();
        rounds += changed;  // races
        CLEAN(__syncthreads();)
        if (T == 0) changed = 0;  // races
        CLEAN(__syncthreads();)
    }
    if (T == 0) out[0] = rounds;
}

// An independent set: a vertex joins if its priority is largest, and reads states that its neighbours set.
// racy: data
// grid: 1 x 64
// out: local_maxima(x)
KERNEL(independent_set) {
    data[T] = 0;
    __syncthreads();
    bool joins = true;
    for (int edge = 0; edge < 2; ++edge) {
        int other = neighbour(T, edge);
        if (in[other] >= in[T]) joins = false;
        RACY(if (data[other] == 1) joins = false;)  // races
    }
    if (joins) data[T] = 1;  // races
    __syncthreads();
    out[T] = data[T];
}

// Colours are chosen from those of the neighbours, which choose at the same time.
// racy: data
// grid: 1 x 64
// data: [(v % 2) + 1 for v in range(64)]
KERNEL(speculative_colouring) {
    data[T] = 0;
    __syncthreads();
    CLEAN(for (int turn = 0; turn < 2; ++turn)) {
        CLEAN(if (T % 2 == turn))
        data[T] = data[neighbour(T, 0)] == 1 ? 2 : 1 RACY(+ T % 3);  // races
        __syncthreads();
    }
}
