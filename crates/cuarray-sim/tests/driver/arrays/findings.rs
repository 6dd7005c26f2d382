//! Findings about the memory of arrays: races, uses after destruction, reads of unwritten texels, and leaks.

use super::*;
use cuarray_sim::finding::Kind;

const EXTENTS: [usize; 3] = [8, 4, 1];

pub(super) fn kinds(program: &Program) -> Vec<Kind> {
    program.sim.report().findings.iter().map(|finding| finding.kind).collect()
}

/// Copies a row of an array to device memory.
fn read_row(program: &Program, array: CUarray, row: usize, memory: CUdeviceptr, stream: CUstream) {
    let target = End::of_memory(CU_MEMORYTYPE_DEVICE, memory);
    ok!(program, cuMemcpy3DAsync_v2(&copy(target, End::of_array(array, [0, row, 0]), [8, 1, 1]), stream));
}

/// Copies device memory to a row of an array.
fn write_row(program: &Program, array: CUarray, row: usize, memory: CUdeviceptr, stream: CUstream) {
    let source = End::of_memory(CU_MEMORYTYPE_DEVICE, memory);
    ok!(program, cuMemcpy3DAsync_v2(&copy(End::of_array(array, [0, row, 0]), source, [8, 1, 1]), stream));
}

#[test]
fn unordered_copies_of_one_row_are_a_race_and_of_two_rows_are_not() {
    for row in [0, 1] {
        let program = Program::new();
        let (array, memory) = (bytes(&program, EXTENTS, 0), program.alloc(16));
        upload(&program, array, EXTENTS, &[0; 32]);
        ok!(program, cuMemsetD8_v2(memory, 0, 16));
        ok!(program, cuCtxSynchronize());
        let [one, other] = [0, 1].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
        write_row(&program, array, 0, memory, one);
        read_row(&program, array, row, memory + 8, other);
        let expected = if row == 0 { vec![Kind::DataRace] } else { vec![] };
        assert_eq!(kinds(&program), expected);
        if row == 0 {
            let text = program.sim.report().text(false);
            assert!(text.contains("array") && text.contains("cuMemcpy3DAsync"), "{text}");
        }
    }
}

#[test]
fn read_of_unwritten_texels_is_a_finding() {
    for rows in [4, 3] {
        let program = Program::new();
        let array = bytes(&program, EXTENTS, 0);
        let source = End::of_memory(CU_MEMORYTYPE_HOST, [0_u8; 32].as_ptr() as u64);
        ok!(program, cuMemcpy3D_v2(&copy(End::of_array(array, [0; 3]), source, [8, rows, 1])));
        download(&program, array, EXTENTS);
        let expected = if rows == 3 { vec![Kind::UninitializedRead] } else { vec![] };
        assert_eq!(kinds(&program), expected);
    }
}

#[test]
fn use_of_a_destroyed_array_is_a_finding() {
    let program = Program::new();
    let (array, memory) = (bytes(&program, EXTENTS, 0), program.alloc(8));
    ok!(program, cuArrayDestroy(array));
    let target = End::of_memory(CU_MEMORYTYPE_DEVICE, memory);
    fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&copy(target, End::of_array(array, [0; 3]), [8, 1, 1])));
    fails!(program, INVALID_HANDLE, cuArrayDestroy(array));
    assert_eq!(kinds(&program), [Kind::DestroyedHandle, Kind::DestroyedHandle]);
    let text = program.sim.report().text(false);
    assert!(text.contains("cuArrayDestroy"), "{text}");
}

#[test]
fn array_that_is_left_at_the_end_is_a_leak() {
    for destroyed in [true, false] {
        let program = Program::new();
        let descriptor = described(CU_AD_FORMAT_UNSIGNED_INT8, 1, EXTENTS, 0);
        let mut mipmapped = CUmipmappedArray::NULL;
        ok!(program, cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 2));
        let array = bytes(&program, EXTENTS, 0);
        if destroyed {
            ok!(program, cuMipmappedArrayDestroy(mipmapped));
            ok!(program, cuArrayDestroy(array));
        }
        // The primary context itself stays.
        let leaked: Vec<String> = program
            .sim
            .report_with_leaks()
            .findings
            .iter()
            .filter_map(|finding| {
                Some(format!("{} {}", finding.allocation.as_ref()?.kind, finding.allocation.as_ref()?.call))
            })
            .collect();
        let expected = ["array cuMipmappedArrayCreate", "array cuArray3DCreate_v2"];
        assert_eq!(leaked, if destroyed { vec![] } else { expected.to_vec() });
    }
}

#[test]
fn destruction_runs_pending_work_first() {
    let program = Program::new();
    let (array, memory) = (bytes(&program, EXTENTS, 0), program.alloc(8));
    upload(&program, array, EXTENTS, &[3; 32]);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    read_row(&program, array, 2, memory, stream);
    ok!(program, cuArrayDestroy(array));
    assert_eq!(program.peek(memory), 3);
}
