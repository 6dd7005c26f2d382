"""The clauses: the sentence of the text behind each id, and the disagreements of real libraries with it.

``cuarray inspect`` and the checks of the kit name clauses by these ids. The sentences are those of the CUDA Array Interface, version
3, and of the Python specification and the header of DLPack (ids that begin with DL).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

__all__ = ["CLAUSES", "DISAGREEMENTS", "ENTRIES", "Level"]


class Level(Enum):
    """How binding a check is."""

    MUST = "must"
    #: Good practice: the text permits otherwise, or leaves the case open.
    SHOULD = "should"


#: The clause that each entry of the dictionary follows.
ENTRIES: Mapping[str, str] = {
    "shape": "I2",
    "typestr": "I3",
    "data": "I4",
    "version": "I7",
    "strides": "I8",
    "descr": "I9",
    "mask": "I10",
    "stream": "I11",
}

#: The sentence behind each clause.
CLAUSES: Mapping[str, str] = {
    "I1": "The __cuda_array_interface__ attribute returns a dictionary (dict) that must contain the following entries: shape, "
    "typestr, data, version.",
    "I2": "A tuple of int (or long) representing the size of each dimension.",
    "I3": "The type string. This has the same definition as typestr in the numpy array interface.",
    "I4": "The data is a 2-tuple. The first element is the data pointer as a Python int (or long). The second element is the "
    "read-only flag as a Python bool.",
    "I5": "For zero-size arrays, use 0 here.",
    "I6": "The data must be device-accessible. [...] cuPointerGetAttribute with CU_POINTER_ATTRIBUTE_DEVICE_POINTER [...] to "
    "retrieve a device pointer that is usable in the currently active context.",
    "I7": "An integer for the version of the interface being exported. The current version is 3.",
    "I8": "If strides is not given, or it is None, the array is in C-contiguous layout. Otherwise, a tuple of int (or long) is "
    "explicitly given for representing the number of bytes to skip to access the next element at each dimension.",
    "I9": "This is for describing more complicated types. This follows the same specification as in the numpy array interface.",
    "I10": "If None then all values in data are valid. All elements of the mask array should be interpreted only as true or not "
    "true indicating which elements of this array are valid.",
    "I11": "0: This is disallowed as it would be ambiguous between None and the default stream, and also between the legacy and "
    "per-thread default streams. 1: The legacy default stream. 2: The per-thread default stream. Any other integer: a cudaStream_t.",
    "V0": "Version 0 has no mask.",
    "V1": "Versions 0 and 1 define neither the strides of contiguous arrays nor the pointer of zero-size arrays.",
    "V2": "Versions 0 to 2 have no stream.",
    "S1": "When stream is not present or is None: no synchronization is required on the part of the Consumer.",
    "S2": "When stream is an integer, [...] the Consumer is expected to either: synchronize on before accessing the data, or "
    "enqueue operations in when accessing the data.",
    "S3": "If the Consumer synchronizes on the provided stream prior to accessing the data, then it must ensure that no computation "
    "can take place in the provided stream until its operations in its own choice of stream have taken place.",
    "S4": "If the consumer chooses to only enqueue operations on the data in the provided stream, then it may return control to the "
    "User code immediately after enqueueing its work.",
    "P1": "If there is work on the data enqueued in one or more streams, then synchronization on the provided stream is sufficient "
    "to ensure synchronization with all pending work.",
    "P2": "If the Producer has enqueued work on the data on multiple streams, then it must enqueue events on those streams that "
    "follow the enqueued work, and then wait on those events in the provided stream.",
    "P3": "If there is no work enqueued on the data, then the stream entry may be either None, or not provided.",
    "P4": "These options should not be set by default in either a Producer or a Consumer.",
    "L1": "Obtaining the value of the __cuda_array_interface__ property of any object has no effect on the lifetime of the object "
    "from which it was created.",
    "L2": "The User code must preserve the lifetime of the object owning the data for as long as the Consumer might use it. (In "
    "version 2 of the text, the consumer keeps the owner alive.)",
    "L4": "It is therefore required that a Producer exporting data on the interface with an associated stream ensures that the "
    "exported stream's lifetime is equal to or surpasses the lifetime of the object from which the interface was exported.",
    "DL1": "__dlpack_device__() returns the device type and device ID in DLPack format, as a pair of integers.",
    "DL2": "__dlpack__ returns a capsule of the name 'dltensor', or 'dltensor_versioned' if max_version is 1.0 or later.",
    "DL3": "1 = the legacy default stream, 2 = the per-thread default stream, > 2 = stream number represented as a Python integer; 0 "
    "is disallowed due to its ambiguity. -1 requests that the producer must not perform any synchronization. The producer must "
    "ensure that the data is safe to operate on in the stream.",
    "DL4": "If the producer cannot export the tensor on the requested device or version, or cannot honour copy, it must raise "
    "BufferError.",
    "DL5": "DLPACK_FLAG_BITMASK_READ_ONLY: bit mask to indicate that the tensor is read only.",
    "DL6": "The consumer must rename the capsule to 'used_dltensor' (or 'used_dltensor_versioned') and call the deleter exactly once "
    "when the data is no longer needed.",
    "DL7": "An unconsumed capsule's destructor calls the deleter.",
    "DL8": "The strides of the tensor, in number of elements; can be NULL before version 1.2, which means compact and row-major.",
    "DL9": "The type of an element: a code, the bits of a lane, and the lanes. A vector type has several lanes; for a scalar type the "
    "number of lanes is 1.",
    "DL10": "If the tensor is of size zero, then the data pointer should be set to NULL.",
    "DLX1": "__dlpack_c_exchange_api__ is a capsule 'dlpack_exchange_api' on the type, with a table of C functions.",
    "DLX2": "The table's functions export without synchronization; current_work_stream returns the stream in which the producer "
    "currently enqueues work.",
}

#: Points where real libraries and the text, or two libraries, differ.
DISAGREEMENTS: Mapping[str, str] = {
    "D1": "a broadcast array is not contiguous",
    "D2": "stream 0 is ambiguous, and disallowed",
    "D3": "strides and item sizes are in bytes",
    "D4": "the exported stream covers all work on the array",
    "D5": "a type string has a byte order, a kind and a size in bytes",
    "D6": "data is a tuple",
    "D7": "a mask has an element for each element of the array",
    "D8": "strides may be absent",
    "D9": "versions 0 to 3 are read",
    "D10": "bfloat16 has several spellings, and no library reads those of others",
    "D11": "the device is the one that the pointer belongs to",
    "D12": "a lazy conjugate is exported without its conjugation",
    "D13": "an array without elements may have strides",
    "D14": "the fields of a structure are lost or misplaced",
    "D15": "the numbers 1 and 2 are streams",
    "D16": "the consumer waits for the exported stream",
    "D17": "pending work is exported as a stream",
    "D18": "the producer's later work waits for the consumer",
    "D19": "a stream that is capturing a graph is not disturbed",
    "D20": "the synchronization switch turns off all synchronization",
    "D21": "read-only stays read-only",
    "D22": "reading the attribute may raise anything",
    "D23": "libraries differ in which owners they keep alive",
    "D24": "libraries accept different types for dict, tuple and int",
}
