//! Accesses outside their allocation or outside every allocation, and misaligned addresses.

use super::*;

/// A call that the driver refuses if it is wrong.
macro_rules! refused_unless {
    ($right:expr, $program:expr, $($call:tt)*) => {
        assert_eq!(call!($program, $($call)*).is_success(), $right)
    };
}

pairs! {
    a_fill_beyond_the_end: OutOfBounds ["cuMemsetD8Async on host"], |p, right| {
        let memory = p.alloc(64);
        refused_unless!(right, p, cuMemsetD8Async(memory, 0, if right { 64 } else { 65 }, CUstream::NULL));
    }
    a_copy_from_beyond_the_end: OutOfBounds ["cuMemcpyDtoDAsync_v2 on host"], |p, right| {
        let (memory, copy) = (p.written(64), p.alloc(128));
        let from = if right { memory } else { memory + 32 };
        refused_unless!(right, p, cuMemcpyDtoDAsync_v2(copy, from, 64, CUstream::NULL));
    }
    an_upload_that_is_too_long: OutOfBounds ["cuMemcpyHtoD_v2 on host"], |p, right| {
        let (memory, bytes) = (p.alloc(64), [0_u8; 128]);
        refused_unless!(right, p, cuMemcpyHtoD_v2(memory, bytes.as_ptr().cast(), if right { 64 } else { 128 }));
    }
    elements_taken_for_bytes: OutOfBounds ["cuMemsetD32_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        refused_unless!(right, p, cuMemsetD32_v2(memory, 0, if right { 16 } else { 64 }));
    }
    a_row_too_many: OutOfBounds ["cuMemsetD2D8_v2 on host"], |p, right| {
        let memory = p.alloc(64 * 4);
        refused_unless!(right, p, cuMemsetD2D8_v2(memory, 64, 0, 64, if right { 4 } else { 5 }));
    }
    in_front_of_the_first_byte: OutOfBounds ["cuMemsetD8_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        refused_unless!(right, p, cuMemsetD8_v2(if right { memory } else { memory - 8 }, 0, 16));
    }
    an_unallocated_address: OutOfBounds ["cuMemsetD8_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        refused_unless!(right, p, cuMemsetD8_v2(if right { memory } else { 0x1000 }, 0, 16));
    }
    words_at_an_odd_address: MisalignedAccess ["cuMemsetD32Async on host"], |p, right| {
        let memory = p.alloc(64);
        let at = if right { memory + 4 } else { memory + 2 };
        refused_unless!(right, p, cuMemsetD32Async(at, 0, 4, CUstream::NULL));
    }
    half_words_at_an_odd_address: MisalignedAccess ["cuMemsetD16_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        refused_unless!(right, p, cuMemsetD16_v2(if right { memory } else { memory + 1 }, 0, 4));
    }
    a_pitch_that_words_do_not_divide: MisalignedAccess ["cuMemsetD2D32_v2 on host"], |p, right| {
        let memory = p.alloc(256);
        refused_unless!(right, p, cuMemsetD2D32_v2(memory, if right { 32 } else { 30 }, 0, 4, 4));
    }
}
