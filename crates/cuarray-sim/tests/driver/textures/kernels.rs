//! Kernels that read textures and write surfaces: their memory is that of the objects, and so are the findings.

use super::*;
use cuarray_sim::finding::Kind;

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .global .texref image;
    .global .surfref canvas;

    // out[tid] = texture[tid, row]
    .visible .entry fetch(.param .u64 texture, .param .u64 out, .param .u32 row)
    {
        .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .f32 %f<5>;
        ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [out]; ld.param.u32 %r2, [row];
        mov.u32 %r1, %tid.x;
        tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];
        mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
        st.global.f32 [%rd2], %f1;
        ret;
    }

    // out[tid] = texture[tid], from linear memory
    .visible .entry fetch_line(.param .u64 texture, .param .u64 out, .param .u32 row)
    {
        .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .f32 %f<5>;
        ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];
        mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
        st.global.f32 [%rd2], %f1;
        ret;
    }

    // surface[tid, row] = tid
    .visible .entry store(.param .u64 surface, .param .u64 out, .param .u32 row)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<4>; .reg .f32 %f<2>;
        ld.param.u64 %rd1, [surface]; ld.param.u32 %r2, [row];
        mov.u32 %r1, %tid.x;
        cvt.rn.f32.u32 %f1, %r1; mov.b32 %r3, %f1;
        shl.b32 %r1, %r1, 2;
        sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};
        ret;
    }

    // out[tid] = image[tid, row]
    .visible .entry fetch_reference(.param .u64 unused, .param .u64 out, .param .u32 row)
    {
        .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .f32 %f<5>;
        ld.param.u64 %rd2, [out]; ld.param.u32 %r2, [row];
        mov.u32 %r1, %tid.x;
        tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1, %r2}];
        mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
        st.global.f32 [%rd2], %f1;
        ret;
    }

    // canvas[tid, row] = 5
    .visible .entry store_reference(.param .u64 unused, .param .u64 out, .param .u32 row)
    {
        .reg .b32 %r<4>;
        ld.param.u32 %r2, [row];
        mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2;
        mov.b32 %r3, 0f40A00000;
        sust.b.2d.b32.trap [canvas, {%r1, %r2}], {%r3};
        ret;
    }";

const WIDTH: usize = 8;

fn loaded(program: &Program) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module
}

/// Launches eight threads of a kernel with an object, an address and a row.
fn launch(program: &Program, module: CUmodule, name: &std::ffi::CStr, (mut object, mut out, mut row): (u64, u64, u32)) {
    launch_in(program, module, name, (&mut object, &mut out, &mut row), CUstream::NULL);
}

fn launch_in(
    program: &Program,
    module: CUmodule,
    name: &std::ffi::CStr,
    (object, out, row): (&mut u64, &mut u64, &mut u32),
    stream: CUstream,
) {
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let mut parameters =
        [std::ptr::from_mut(object).cast::<c_void>(), std::ptr::from_mut(out).cast(), std::ptr::from_mut(row).cast()];
    let (threads, none) = (WIDTH as u32, std::ptr::null_mut());
    ok!(program, cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
}

/// An array of eight by two floats from 0 to 15.
fn filled(program: &Program, flags: u32) -> CUarray {
    let array = array(program, [WIDTH, 2, 0], flags);
    write(program, array);
    array
}

fn write(program: &Program, array: CUarray) {
    let numbers: [f32; 2 * WIDTH] = std::array::from_fn(|index| index as f32);
    for row in 0..2 {
        let host = numbers[row * WIDTH..].as_ptr().cast();
        ok!(program, cuMemcpyHtoA_v2(array, row * WIDTH * 4, host, WIDTH * 4));
    }
}

fn texture_of(program: &Program, resource: &CUDA_RESOURCE_DESC) -> CUtexObject {
    let mut object = 0;
    ok!(program, cuTexObjectCreate(&mut object, resource, &clamped(), std::ptr::null()));
    object
}

fn floats(program: &Program, address: u64) -> [f32; WIDTH] {
    let mut numbers = [0.0; WIDTH];
    ok!(program, cuMemcpyDtoH_v2(numbers.as_mut_ptr().cast(), address, WIDTH * 4));
    numbers
}

fn kinds(program: &Program) -> Vec<Kind> {
    program.sim.report().findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn texture_reads_the_texels_of_an_array_and_of_memory() {
    let program = Program::new();
    let (module, array, out) = (loaded(&program), filled(&program, 0), program.alloc(64));
    let texture = texture_of(&program, &resource(CU_RESOURCE_TYPE_ARRAY, array.0));
    launch(&program, module, c"fetch", (texture, out, 1));
    assert_eq!(floats(&program, out), [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
    let memory = program.alloc(512);
    ok!(program, cuMemsetD32_v2(memory, 2.5_f32.to_bits(), 128));
    let lines = texture_of(&program, &linear(memory, FLOAT, 1, 16));
    launch(&program, module, c"fetch_line", (lines, out, 0));
    assert_eq!(floats(&program, out), [2.5, 2.5, 2.5, 2.5, 0.0, 0.0, 0.0, 0.0]);
    let pitched = texture_of(&program, &rows(memory, WIDTH, 4, 128));
    launch(&program, module, c"fetch", (pitched, out, 3));
    assert_eq!(floats(&program, out), [2.5; WIDTH]);
    assert_eq!(program.sim.report().text(false), "");
}

#[test]
fn surface_writes_the_texels_of_an_array() {
    let program = Program::new();
    let (module, array) = (loaded(&program), filled(&program, CUDA_ARRAY3D_SURFACE_LDST));
    let mut surface = 0;
    ok!(program, cuSurfObjectCreate(&mut surface, &resource(CU_RESOURCE_TYPE_ARRAY, array.0)));
    launch(&program, module, c"store", (surface, 0, 1));
    let mut numbers = [0.0_f32; WIDTH];
    ok!(program, cuMemcpyAtoH_v2(numbers.as_mut_ptr().cast(), array, WIDTH * 4, WIDTH * 4));
    assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(program.sim.report().text(false), "");
}

#[test]
fn references_of_a_module_are_read_and_written_by_its_kernels() {
    let program = Program::new();
    let (module, array, out) = (loaded(&program), filled(&program, CUDA_ARRAY3D_SURFACE_LDST), program.alloc(64));
    let (mut texture, mut again, mut surface) = (CUtexref(0), CUtexref(0), CUsurfref(0));
    ok!(program, cuModuleGetTexRef(&mut texture, module, c"image".as_ptr()));
    ok!(program, cuModuleGetTexRef(&mut again, module, c"image".as_ptr()));
    assert_eq!(texture, again);
    fails!(program, NOT_FOUND, cuModuleGetSurfRef(&mut surface, module, c"image".as_ptr()));
    ok!(program, cuModuleGetSurfRef(&mut surface, module, c"canvas".as_ptr()));
    ok!(program, cuTexRefSetArray(texture, array, CU_TRSA_OVERRIDE_FORMAT));
    fails!(program, INVALID_VALUE, cuSurfRefSetArray(surface, array, 1));
    ok!(program, cuSurfRefSetArray(surface, array, 0));
    let mut bound = CUarray(0);
    ok!(program, cuSurfRefGetArray(&mut bound, surface));
    assert_eq!(bound, array);
    launch(&program, module, c"fetch_reference", (0, out, 0));
    assert_eq!(floats(&program, out), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    launch(&program, module, c"store_reference", (0, 0, 0));
    launch(&program, module, c"fetch_reference", (0, out, 0));
    assert_eq!(floats(&program, out), [5.0; WIDTH]);
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, c"fetch".as_ptr()));
    ok!(program, cuParamSetTexRef(function, CU_PARAM_TR_DEFAULT, texture));
    fails!(program, INVALID_VALUE, cuParamSetTexRef(function, 0, texture));
    fails!(program, INVALID_VALUE, cuTexRefDestroy(texture));
    ok!(program, cuModuleUnload(module));
    fails!(program, INVALID_VALUE, cuTexRefSetArray(texture, array, CU_TRSA_OVERRIDE_FORMAT));
}

#[test]
fn launch_that_uses_a_destroyed_object_is_a_finding() {
    let program = Program::new();
    let (module, array, out) = (loaded(&program), filled(&program, 0), program.alloc(64));
    let texture = texture_of(&program, &resource(CU_RESOURCE_TYPE_ARRAY, array.0));
    launch(&program, module, c"fetch", (texture, out, 0));
    ok!(program, cuTexObjectDestroy(texture));
    fails!(program, LAUNCH_FAILED, cuCtxSynchronize());
    assert_eq!(kinds(&program), [Kind::DestroyedHandle]);
    let text = program.sim.report().text(false);
    assert!(text.contains("texture object") && text.contains("cuTexObjectDestroy"), "{text}");
}

#[test]
fn launch_that_uses_an_object_over_a_destroyed_array_is_a_finding() {
    let program = Program::new();
    let (module, array, out) = (loaded(&program), filled(&program, 0), program.alloc(64));
    let texture = texture_of(&program, &resource(CU_RESOURCE_TYPE_ARRAY, array.0));
    ok!(program, cuArrayDestroy(array));
    launch(&program, module, c"fetch", (texture, out, 0));
    fails!(program, LAUNCH_FAILED, cuCtxSynchronize());
    assert_eq!(kinds(&program), [Kind::DestroyedHandle]);
    assert!(program.sim.report().text(false).contains("cuArrayDestroy"));
}

#[test]
fn launch_that_uses_an_object_over_freed_memory_is_a_use_after_free() {
    let program = Program::new();
    let (module, memory, out) = (loaded(&program), program.alloc(512), program.alloc(64));
    let texture = texture_of(&program, &linear(memory, FLOAT, 1, 512));
    ok!(program, cuMemFree_v2(memory));
    launch(&program, module, c"fetch_line", (texture, out, 0));
    fails!(program, LAUNCH_FAILED, cuCtxSynchronize());
    assert_eq!(kinds(&program), [Kind::UseAfterFree]);
}

#[test]
fn unordered_copy_and_fetch_are_a_race_and_unwritten_texels_are_found() {
    for ordered in [true, false] {
        let program = Program::new();
        let (module, array, out) = (loaded(&program), filled(&program, 0), program.alloc(64));
        let (memory, copies) = (program.alloc(WIDTH * 4), program.stream(CU_STREAM_NON_BLOCKING));
        let kernels = if ordered { copies } else { program.stream(CU_STREAM_NON_BLOCKING) };
        ok!(program, cuMemsetD8_v2(memory, 0, WIDTH * 4));
        ok!(program, cuCtxSynchronize());
        let texture = texture_of(&program, &resource(CU_RESOURCE_TYPE_ARRAY, array.0));
        let mut copy: CUDA_MEMCPY2D = unwritten();
        (copy.srcMemoryType, copy.srcDevice) = (CU_MEMORYTYPE_DEVICE, memory);
        (copy.dstMemoryType, copy.dstArray) = (CU_MEMORYTYPE_ARRAY, array);
        (copy.WidthInBytes, copy.Height) = (WIDTH * 4, 1);
        ok!(program, cuMemcpy2DAsync_v2(&copy, copies));
        launch_in(&program, module, c"fetch", (&mut texture.clone(), &mut out.clone(), &mut 0), kernels);
        ok!(program, cuCtxSynchronize());
        assert_eq!(kinds(&program), if ordered { vec![] } else { vec![Kind::DataRace] });
    }
    let program = Program::new();
    let (module, out) = (loaded(&program), program.alloc(64));
    let unwritten = array(&program, [WIDTH, 2, 0], 0);
    let texture = texture_of(&program, &resource(CU_RESOURCE_TYPE_ARRAY, unwritten.0));
    launch(&program, module, c"fetch", (texture, out, 0));
    ok!(program, cuCtxSynchronize());
    assert_eq!(kinds(&program), [Kind::UninitializedRead]);
}

/// A descriptor of a copy without sides.
fn unwritten() -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: 0,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: CUarray::NULL,
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: 0,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: CUarray::NULL,
        dstPitch: 0,
        WidthInBytes: 0,
        Height: 0,
    }
}
