// The algorithms of Thrust on device vectors, compared with those of the host.
#include "check.h"

#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

using Vector = thrust::device_vector<int>;

struct Less {
    __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

struct IsEven {
    __host__ __device__ bool operator()(int a) const { return a % 2 == 0; }
};

struct Square {
    __host__ __device__ long long operator()(int a) const { return 1LL * a * a; }
};

// A structure with padding, whose bytes sorts and copies carry along.
struct Padded {
    char letter;
    double number;
    short tail;
};

struct ByNumber {
    __host__ __device__ bool operator()(const Padded& a, const Padded& b) const { return a.number < b.number; }
};

struct Make {
    __host__ __device__ Padded operator()(int a) const {
        Padded made;
        made.letter = static_cast<char>(a);
        made.number = a;
        made.tail = static_cast<short>(a);
        return made;
    }
};

struct Number {
    __host__ __device__ int operator()(const Padded& a) const { return static_cast<int>(a.number); }
};

std::vector<int> host(const Vector& from, size_t count) {
    std::vector<int> to(count);
    thrust::copy(from.begin(), from.begin() + count, to.begin());
    return to;
}

int main(int count_of_arguments, char** arguments) {
    const int n = count_of_arguments > 1 ? std::atoi(arguments[1]) : 200000;
    const std::vector<int> keys = numbers(n, 1 << 20), small = numbers(n, 50, 7);
    std::vector<int> ordered = keys, index(n), wanted(n);
    std::sort(ordered.begin(), ordered.end());
    std::iota(index.begin(), index.end(), 0);
    const Vector in(keys.begin(), keys.end()), few(small.begin(), small.end()), sorted(ordered.begin(), ordered.end());
    Vector out(n);

    Vector a = in;
    thrust::sort(a.begin(), a.end());
    expect("sort", host(a, n), ordered);
    a = in;
    thrust::sort(a.begin(), a.end(), Less{});
    expect("sort with a comparator", host(a, n), ordered);
    a = in;
    thrust::stable_sort(a.begin(), a.end(), Less{});
    expect("stable_sort", host(a, n), ordered);
    a = in;
    Vector values(index.begin(), index.end());
    thrust::stable_sort_by_key(a.begin(), a.end(), values.begin(), Less{});
    std::vector<int> stable = index;
    std::stable_sort(stable.begin(), stable.end(), [&](int x, int y) { return keys[x] < keys[y]; });
    expect("stable_sort_by_key", host(values, n), stable);
    {
        thrust::device_vector<Padded> padded(n);
        thrust::transform(in.begin(), in.end(), padded.begin(), Make{});
        thrust::sort(padded.begin(), padded.end(), ByNumber{});
        thrust::transform(padded.begin(), padded.end(), out.begin(), Number{});
        expect("sort of a structure with padding", host(out, n), ordered);
    }
    expect("reduce", std::vector<long long>{thrust::reduce(in.begin(), in.end(), 0LL)},
           {std::accumulate(keys.begin(), keys.end(), 0LL)});
    long long squares = 0;
    for (int each : keys) squares += Square{}(each);
    expect("transform_reduce",
           std::vector<long long>{thrust::transform_reduce(in.begin(), in.end(), Square{}, 0LL, thrust::plus<long long>{})}, {squares});
    expect("inner_product", std::vector<long long>{thrust::inner_product(in.begin(), in.end(), few.begin(), 0LL)},
           {std::inner_product(keys.begin(), keys.end(), small.begin(), 0LL)});
    thrust::inclusive_scan(few.begin(), few.end(), out.begin());
    std::partial_sum(small.begin(), small.end(), wanted.begin());
    expect("inclusive_scan", host(out, n), wanted);
    thrust::exclusive_scan(few.begin(), few.end(), out.begin());
    std::exclusive_scan(small.begin(), small.end(), wanted.begin(), 0);
    expect("exclusive_scan", host(out, n), wanted);
    expect("count_if", std::vector<long>{thrust::count_if(in.begin(), in.end(), IsEven{})},
           {std::count_if(keys.begin(), keys.end(), IsEven{})});
    expect("max_element", std::vector<long>{thrust::max_element(in.begin(), in.end()) - in.begin()},
           {std::max_element(keys.begin(), keys.end()) - keys.begin()});
    expect("find", std::vector<long>{thrust::find(in.begin(), in.end(), keys[n / 2]) - in.begin()},
           {std::find(keys.begin(), keys.end(), keys[n / 2]) - keys.begin()});
    std::vector<int> even;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(even), IsEven{});
    thrust::copy_if(in.begin(), in.end(), out.begin(), IsEven{});
    expect("copy_if", host(out, even.size()), even);
    std::vector<int> odd;
    std::remove_copy_if(keys.begin(), keys.end(), std::back_inserter(odd), IsEven{});
    a = in;
    thrust::remove_if(a.begin(), a.end(), IsEven{});
    expect("remove_if in place", host(a, odd.size()), odd);
    a = in;
    auto middle = thrust::stable_partition(a.begin(), a.end(), IsEven{});
    expect("stable_partition", host(a, middle - a.begin()), even);
    std::vector<int> distinct = ordered;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    a = sorted;
    auto end = thrust::unique(a.begin(), a.end());
    expect("unique in place", host(a, end - a.begin()), distinct);
    {
        std::vector<int> right = numbers(n, 1 << 20, 3), merged, common;
        std::sort(right.begin(), right.end());
        std::merge(ordered.begin(), ordered.end(), right.begin(), right.end(), std::back_inserter(merged));
        std::set_intersection(ordered.begin(), ordered.end(), right.begin(), right.end(), std::back_inserter(common));
        Vector other(right.begin(), right.end()), both(2 * n);
        thrust::merge(sorted.begin(), sorted.end(), other.begin(), other.end(), both.begin());
        expect("merge", host(both, 2 * n), merged);
        auto last = thrust::set_intersection(sorted.begin(), sorted.end(), other.begin(), other.end(), both.begin());
        expect("set_intersection", host(both, last - both.begin()), common);
    }
    thrust::lower_bound(sorted.begin(), sorted.end(), in.begin(), in.end(), out.begin());
    for (int i = 0; i < n; i++) wanted[i] = std::lower_bound(ordered.begin(), ordered.end(), keys[i]) - ordered.begin();
    expect("lower_bound", host(out, n), wanted);
    thrust::adjacent_difference(in.begin(), in.end(), out.begin());
    std::adjacent_difference(keys.begin(), keys.end(), wanted.begin());
    expect("adjacent_difference", host(out, n), wanted);
    Vector permutation(stable.begin(), stable.end());
    thrust::gather(permutation.begin(), permutation.end(), in.begin(), out.begin());
    expect("gather", host(out, n), ordered);
    {
        std::vector<int> by(n);
        for (int i = 0; i < n; i++) by[i] = i / 37;
        std::vector<int> sums(by.back() + 1);
        for (int i = 0; i < n; i++) sums[by[i]] += small[i];
        Vector groups(by.begin(), by.end()), to(n);
        thrust::reduce_by_key(groups.begin(), groups.end(), few.begin(), to.begin(), out.begin());
        expect("reduce_by_key", host(out, sums.size()), sums);
    }
    return failures > 0;
}
