// The algorithms of CUB, each with its default settings, compared with those of the host.
#include "check.h"

#include <cub/cub.cuh>

#include <algorithm>
#include <map>
#include <numeric>

// Device memory with the values of a vector.
template <class T>
struct Array {
    T* data = nullptr;
    size_t size;
    explicit Array(size_t size) : size(size) { OK(cudaMalloc(&data, size * sizeof(T))); }
    explicit Array(const std::vector<T>& from) : Array(from.size()) {
        OK(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Array() { cudaFree(data); }
    std::vector<T> first(size_t count) const {
        std::vector<T> to(count);
        OK(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
    std::vector<T> all() const { return first(size); }
};

// Runs an algorithm: once for the size of its temporary storage, once with it.
template <class F>
void run(F algorithm) {
    size_t bytes = 0;
    void* storage = nullptr;
    OK(algorithm(storage, bytes));
    OK(cudaMalloc(&storage, bytes));
    OK(algorithm(storage, bytes));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(storage));
}

struct Less {
    __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

struct IsEven {
    __host__ __device__ bool operator()(int a) const { return a % 2 == 0; }
};

struct IsSmall {
    __host__ __device__ bool operator()(int a) const { return a < 100; }
};

struct Twice {
    int* to;
    __device__ void operator()(int a) { atomicAdd(to, a); }
};

int main(int count_of_arguments, char** arguments) {
    const int n = count_of_arguments > 1 ? std::atoi(arguments[1]) : 200000;
    const std::vector<int> keys = numbers(n, 1 << 20), small = numbers(n, 50, 7);
    std::vector<int> ordered = keys, index(n);
    std::sort(ordered.begin(), ordered.end());
    std::iota(index.begin(), index.end(), 0);
    std::vector<int> stable = index;
    std::stable_sort(stable.begin(), stable.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    const int segment = 1000, segments = n / segment;
    std::vector<int> offsets(segments + 1), in_segments = keys;
    for (int i = 0; i <= segments; i++) offsets[i] = i * segment;
    for (int i = 0; i < segments; i++) std::sort(in_segments.begin() + offsets[i], in_segments.begin() + offsets[i + 1]);
    in_segments.resize(segments * segment);

    Array<int> in(keys), few(small), values(index), starts(offsets), out(n), more(n), one(1), ends(segments);
    const long long sum = std::accumulate(keys.begin(), keys.end(), 0LL);
    Array<long long> total(1);

    run([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, in.data, total.data, n); });
    expect("DeviceReduce::Sum", total.all(), {sum});
    run([&](void* s, size_t& b) { return cub::DeviceReduce::Max(s, b, in.data, one.data, n); });
    expect("DeviceReduce::Max", one.all(), {ordered.back()});
    Array<cuda::std::int64_t> place(1);
    run([&](void* s, size_t& b) { return cub::DeviceReduce::ArgMin(s, b, in.data, one.data, place.data, n); });
    expect("DeviceReduce::ArgMin", one.all(), {ordered.front()});
    std::map<int, int> sums;
    std::vector<int> runs, heads, lengths;
    {
        std::vector<int> by(n);
        for (int i = 0; i < n; i++) by[i] = i / 37;
        for (int i = 0; i < n; i++) sums[by[i]] += small[i];
        Array<int> groups(by);
        run([&](void* s, size_t& b) {
            return cub::DeviceReduce::ReduceByKey(s, b, groups.data, out.data, few.data, more.data, one.data, cuda::std::plus<>{}, n);
        });
        for (auto& each : sums) runs.push_back(each.second);
        expect("DeviceReduce::ReduceByKey", more.first(runs.size()), runs);
    }

    std::vector<int> scanned(n), wanted(n);
    run([&](void* s, size_t& b) { return cub::DeviceScan::ExclusiveSum(s, b, few.data, out.data, n); });
    std::exclusive_scan(small.begin(), small.end(), wanted.begin(), 0);
    expect("DeviceScan::ExclusiveSum", out.all(), wanted);
    run([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveScan(s, b, in.data, out.data, cuda::maximum<>{}, n); });
    std::inclusive_scan(keys.begin(), keys.end(), wanted.begin(), [](int a, int b) { return std::max(a, b); });
    expect("DeviceScan::InclusiveScan", out.all(), wanted);
    run([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSumByKey(s, b, few.data, few.data, out.data, n); });
    for (int i = 0; i < n; i++) wanted[i] = small[i] + (i > 0 && small[i - 1] == small[i] ? wanted[i - 1] : 0);
    expect("DeviceScan::InclusiveSumByKey", out.all(), wanted);

    run([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, in.data, out.data, n); });
    expect("DeviceRadixSort::SortKeys", out.all(), ordered);
    run([&](void* s, size_t& b) {
        return cub::DeviceRadixSort::SortPairs(s, b, in.data, out.data, values.data, more.data, n);
    });
    expect("DeviceRadixSort::SortPairs", more.all(), stable);
    run([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(s, b, in.data, out.data, n); });
    expect("DeviceRadixSort::SortKeysDescending", out.all(), std::vector<int>(ordered.rbegin(), ordered.rend()));
    run([&](void* s, size_t& b) {
        return cub::DeviceSegmentedSort::SortKeys(s, b, in.data, out.data, n, segments, starts.data, starts.data + 1);
    });
    expect("DeviceSegmentedSort::SortKeys", out.first(in_segments.size()), in_segments);
    run([&](void* s, size_t& b) {
        return cub::DeviceSegmentedRadixSort::SortKeys(s, b, in.data, out.data, n, segments, starts.data, starts.data + 1);
    });
    expect("DeviceSegmentedRadixSort::SortKeys", out.first(in_segments.size()), in_segments);
    run([&](void* s, size_t& b) {
        return cub::DeviceSegmentedReduce::Sum(s, b, few.data, ends.data, segments, starts.data, starts.data + 1);
    });
    std::vector<int> of_segments(segments);
    for (int i = 0; i < segments; i++) {
        of_segments[i] = std::accumulate(small.begin() + offsets[i], small.begin() + offsets[i + 1], 0);
    }
    expect("DeviceSegmentedReduce::Sum", ends.all(), of_segments);

    {
        Array<int> copy(keys), with(index);
        run([&](void* s, size_t& b) { return cub::DeviceMergeSort::StableSortPairs(s, b, copy.data, with.data, n, Less{}); });
        expect("DeviceMergeSort::StableSortPairs", with.all(), stable);
        Array<int> again(keys);
        run([&](void* s, size_t& b) { return cub::DeviceMergeSort::SortKeys(s, b, again.data, n, Less{}); });
        expect("DeviceMergeSort::SortKeys", again.all(), ordered);
    }
    {
        std::vector<int> left(ordered.begin(), ordered.begin() + n / 3), right = numbers(n - n / 3, 1 << 20, 3), merged;
        std::sort(right.begin(), right.end());
        std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(merged));
        Array<int> a(left), c(right);
        run([&](void* s, size_t& b) {
            return cub::DeviceMerge::MergeKeys(s, b, a.data, int(left.size()), c.data, int(right.size()), out.data, Less{});
        });
        expect("DeviceMerge::MergeKeys", out.all(), merged);
    }

    std::vector<int> selected;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(selected), IsEven{});
    run([&](void* s, size_t& b) { return cub::DeviceSelect::If(s, b, in.data, out.data, one.data, n, IsEven{}); });
    expect("DeviceSelect::If", out.first(selected.size()), selected);
    std::vector<char> chosen(n);
    for (int i = 0; i < n; i++) chosen[i] = IsEven{}(keys[i]);
    Array<char> flags(chosen);
    run([&](void* s, size_t& b) { return cub::DeviceSelect::Flagged(s, b, in.data, flags.data, out.data, one.data, n); });
    expect("DeviceSelect::Flagged", out.first(selected.size()), selected);
    Array<int> sorted(ordered);
    std::vector<int> distinct = ordered;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    run([&](void* s, size_t& b) { return cub::DeviceSelect::Unique(s, b, sorted.data, out.data, one.data, n); });
    expect("DeviceSelect::Unique", out.first(distinct.size()), distinct);
    run([&](void* s, size_t& b) { return cub::DevicePartition::If(s, b, in.data, out.data, one.data, n, IsEven{}); });
    expect("DevicePartition::If", out.first(selected.size()), selected);
    for (size_t i = 0; i < ordered.size(); i++) {
        if (i == 0 || ordered[i] != ordered[i - 1]) lengths.push_back(0);
        lengths.back()++;
    }
    run([&](void* s, size_t& b) {
        return cub::DeviceRunLengthEncode::Encode(s, b, sorted.data, out.data, more.data, one.data, n);
    });
    expect("DeviceRunLengthEncode::Encode", more.first(lengths.size()), lengths);

    Array<int> bins(50);
    run([&](void* s, size_t& b) { return cub::DeviceHistogram::HistogramEven(s, b, few.data, bins.data, 51, 0, 50, n); });
    std::vector<int> counted(50);
    for (int each : small) counted[each]++;
    expect("DeviceHistogram::HistogramEven", bins.all(), counted);
    OK(cudaMemset(one.data, 0, sizeof(int)));
    run([&](void* s, size_t& b) { return cub::DeviceFor::ForEachN(s, b, few.data, n, Twice{one.data}); });
    expect("DeviceFor::ForEachN", one.all(), {std::accumulate(small.begin(), small.end(), 0)});
    run([&](void* s, size_t& b) { return cub::DeviceAdjacentDifference::SubtractLeftCopy(s, b, in.data, out.data, n); });
    std::adjacent_difference(keys.begin(), keys.end(), wanted.begin());
    expect("DeviceAdjacentDifference::SubtractLeftCopy", out.all(), wanted);
    return failures > 0;
}
