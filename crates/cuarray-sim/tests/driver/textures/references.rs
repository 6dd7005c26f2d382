//! Texture references that the program creates.

use super::*;

fn created(program: &Program) -> CUtexref {
    let mut reference = CUtexref(0);
    ok!(program, cuTexRefCreate(&mut reference));
    reference
}

#[test]
fn properties_are_those_that_were_set() {
    let program = Program::new();
    let reference = created(&program);
    let (mut number, mut count, mut float, mut other) = (9_u32, 9, 9.0, 9.0);
    ok!(program, cuTexRefGetFormat(&mut number, &mut count, reference));
    assert_eq!((number, count), (FLOAT, 1));
    ok!(program, cuTexRefSetFormat(reference, CU_AD_FORMAT_SIGNED_INT16, 4));
    ok!(program, cuTexRefGetFormat(&mut number, &mut count, reference));
    assert_eq!((number, count), (CU_AD_FORMAT_SIGNED_INT16, 4));
    ok!(program, cuTexRefSetAddressMode(reference, 1, CU_TR_ADDRESS_MODE_BORDER));
    ok!(program, cuTexRefGetAddressMode(&mut number, reference, 1));
    assert_eq!(number, CU_TR_ADDRESS_MODE_BORDER);
    ok!(program, cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    ok!(program, cuTexRefGetFilterMode(&mut number, reference));
    assert_eq!(number, CU_TR_FILTER_MODE_LINEAR);
    ok!(program, cuTexRefSetMipmapFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    ok!(program, cuTexRefGetMipmapFilterMode(&mut number, reference));
    assert_eq!(number, CU_TR_FILTER_MODE_LINEAR);
    ok!(program, cuTexRefSetMipmapLevelBias(reference, 1.5));
    ok!(program, cuTexRefGetMipmapLevelBias(&mut float, reference));
    assert_eq!(float, 1.5);
    ok!(program, cuTexRefSetMipmapLevelClamp(reference, 1.0, 2.0));
    ok!(program, cuTexRefGetMipmapLevelClamp(&mut float, &mut other, reference));
    assert_eq!((float, other), (1.0, 2.0));
    ok!(program, cuTexRefSetMaxAnisotropy(reference, 4));
    ok!(program, cuTexRefGetMaxAnisotropy(&mut count, reference));
    assert_eq!(count, 4);
    let (mut color, mut read) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
    ok!(program, cuTexRefSetBorderColor(reference, color.as_mut_ptr()));
    ok!(program, cuTexRefGetBorderColor(read.as_mut_ptr(), reference));
    assert_eq!(read, color);
    ok!(program, cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
    ok!(program, cuTexRefGetFlags(&mut number, reference));
    assert_eq!(number, CU_TRSF_NORMALIZED_COORDINATES);
    ok!(program, cuTexRefDestroy(reference));
}

#[test]
fn reference_is_bound_to_the_latest_array_or_memory() {
    let program = Program::new();
    let reference = created(&program);
    let (array, mipmapped, memory) = (array(&program, [8, 4, 0], 0), mipmapped(&program), program.alloc(4096));
    let (mut read, mut levels, mut address, mut offset) = (CUarray(0), CUmipmappedArray(0), 0, 1);
    fails!(program, INVALID_VALUE, cuTexRefGetArray(&mut read, reference));
    fails!(program, INVALID_VALUE, cuTexRefGetAddress_v2(&mut address, reference));
    ok!(program, cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
    ok!(program, cuTexRefGetArray(&mut read, reference));
    assert_eq!(read, array);
    ok!(program, cuTexRefSetMipmappedArray(reference, mipmapped, CU_TRSA_OVERRIDE_FORMAT));
    ok!(program, cuTexRefGetMipmappedArray(&mut levels, reference));
    assert_eq!(levels, mipmapped);
    fails!(program, INVALID_VALUE, cuTexRefGetArray(&mut read, reference));
    ok!(program, cuTexRefSetAddress_v2(&mut offset, reference, memory, 4096));
    ok!(program, cuTexRefGetAddress_v2(&mut address, reference));
    assert_eq!((address, offset), (memory, 0));
    ok!(program, cuTexRefSetAddress_v2(&mut offset, reference, memory + 516, 64));
    assert_eq!(offset, 4);
    let rows = CUDA_ARRAY_DESCRIPTOR { Width: 24, Height: 4, Format: FLOAT, NumChannels: 1 };
    ok!(program, cuTexRefSetAddress2D_v3(reference, &rows, memory, 128));
    ok!(program, cuTexRefSetAddress2D_v2(reference, &rows, memory + 512, 128));
    ok!(program, cuTexRefGetAddress_v2(&mut address, reference));
    assert_eq!(address, memory + 512);
}

#[test]
fn arguments_that_the_manual_excludes_are_invalid() {
    let program = Program::new();
    let reference = created(&program);
    let (array, memory, mut offset) = (array(&program, [8, 4, 0], 0), program.alloc(4096), 0);
    fails!(program, INVALID_VALUE, cuTexRefSetArray(reference, array, 0));
    fails!(program, INVALID_VALUE, cuTexRefSetArray(reference, CUarray(3), CU_TRSA_OVERRIDE_FORMAT));
    fails!(program, INVALID_VALUE, cuTexRefSetArray(CUtexref(3), array, CU_TRSA_OVERRIDE_FORMAT));
    fails!(program, INVALID_VALUE, cuTexRefSetAddress_v2(std::ptr::null_mut(), reference, memory + 4, 64));
    fails!(program, INVALID_VALUE, cuTexRefSetAddress_v2(&mut offset, reference, memory, 8192));
    fails!(program, INVALID_VALUE, cuTexRefSetAddress_v2(&mut offset, reference, memory, 0));
    let rows = CUDA_ARRAY_DESCRIPTOR { Width: 24, Height: 4, Format: FLOAT, NumChannels: 1 };
    fails!(program, INVALID_VALUE, cuTexRefSetAddress2D_v3(reference, &rows, memory + 4, 128));
    fails!(program, INVALID_VALUE, cuTexRefSetAddress2D_v3(reference, &rows, memory, 100));
    fails!(program, INVALID_VALUE, cuTexRefSetAddress2D_v3(reference, std::ptr::null(), memory, 128));
    fails!(program, INVALID_VALUE, cuTexRefSetFormat(reference, FLOAT, 3));
    fails!(program, INVALID_VALUE, cuTexRefSetFormat(reference, FLOAT, -1));
    fails!(program, INVALID_VALUE, cuTexRefSetAddressMode(reference, 3, 0));
    fails!(program, INVALID_VALUE, cuTexRefSetAddressMode(reference, 0, 4));
    fails!(program, INVALID_VALUE, cuTexRefSetFilterMode(reference, 2));
    fails!(program, INVALID_VALUE, cuTexRefSetMipmapFilterMode(reference, 2));
    fails!(program, INVALID_VALUE, cuTexRefSetFlags(reference, 0x100));
    fails!(program, INVALID_VALUE, cuTexRefGetAddressMode(&mut 0, reference, 3));
    // A border colour needs the address mode of a border.
    fails!(program, INVALID_VALUE, cuTexRefSetBorderColor(reference, [0.0; 4].as_mut_ptr()));
    fails!(program, INVALID_VALUE, cuTexRefCreate(std::ptr::null_mut()));
    fails!(program, INVALID_VALUE, cuParamSetTexRef(CUfunction(3), CU_PARAM_TR_DEFAULT, reference));
    fails!(program, INVALID_VALUE, cuSurfRefSetArray(CUsurfref(3), array, 0));
    fails!(program, INVALID_VALUE, cuSurfRefGetArray(&mut CUarray(0), CUsurfref(3)));
    ok!(program, cuTexRefDestroy(reference));
    fails!(program, INVALID_VALUE, cuTexRefDestroy(reference));
}

#[test]
fn module_without_a_reference_of_the_name_has_none() {
    let program = Program::new();
    let ptx = c".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 number;\n.entry empty() { ret; }";
    let (mut module, mut texture, mut surface) = (CUmodule::NULL, CUtexref(0), CUsurfref(0));
    ok!(program, cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    for name in [c"number", c"nothing"] {
        fails!(program, NOT_FOUND, cuModuleGetTexRef(&mut texture, module, name.as_ptr()));
        fails!(program, NOT_FOUND, cuModuleGetSurfRef(&mut surface, module, name.as_ptr()));
    }
    fails!(program, INVALID_VALUE, cuModuleGetTexRef(std::ptr::null_mut(), module, c"number".as_ptr()));
    fails!(program, INVALID_HANDLE, cuModuleGetTexRef(&mut texture, CUmodule(5), c"number".as_ptr()));
}
