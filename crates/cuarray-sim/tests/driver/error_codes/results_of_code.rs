//! Documented results of calls about modules, libraries, links and kernels that no other test of this crate makes.

use super::*;
use std::ffi::{CStr, CString, c_int};

const PTX: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry one(.param .u64 place, .param .u32 value) { ret; }
    .visible .entry two() { ret; }";

#[test]
fn module_lists_its_functions() {
    let p = Program::new();
    let (mut module, mut mode, mut count, mut functions) = (CUmodule::NULL, 0, 0, [CUfunction::NULL; 3]);
    // PTX text is an image for this function too.
    ok!(p, cuModuleLoadFatBinary(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetLoadingMode(&mut mode));
    assert!([CU_MODULE_EAGER_LOADING, CU_MODULE_LAZY_LOADING].contains(&mode));
    ok!(p, cuModuleGetFunctionCount(&mut count, module));
    ok!(p, cuModuleEnumerateFunctions(functions.as_mut_ptr(), 3, module));
    assert_eq!((count, functions[2]), (2, CUfunction::NULL));
    let (mut one, mut owner, mut loaded, mut parameters) = (CUfunction::NULL, CUmodule::NULL, 0, 0);
    ok!(p, cuModuleGetFunction(&mut one, module, c"one".as_ptr()));
    assert_eq!(functions[0], one);
    ok!(p, cuFuncGetModule(&mut owner, one));
    assert_eq!(owner, module);
    ok!(p, cuFuncLoad(one));
    ok!(p, cuFuncIsLoaded(&mut loaded, one));
    assert_eq!(loaded, 1);
    ok!(p, cuFuncGetParamCount(one, &mut parameters));
    assert_eq!(parameters, 2);
    ok!(p, cuFuncSetSharedMemConfig(one, 1));
    fails!(p, INVALID_VALUE, cuFuncSetSharedMemConfig(one, 3));
}

#[test]
fn library_lists_its_kernels_and_each_names_its_library() {
    let p = Program::new();
    let (mut library, mut owner, none) = (CUlibrary::NULL, CUlibrary::NULL, std::ptr::null_mut());
    ok!(p, cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0));
    let (mut kernels, mut one, mut function) = ([CUkernel::NULL; 3], CUkernel::NULL, CUfunction::NULL);
    ok!(p, cuLibraryEnumerateKernels(kernels.as_mut_ptr(), 3, library));
    ok!(p, cuLibraryGetKernel(&mut one, library, c"one".as_ptr()));
    assert_eq!((kernels[0], kernels[2]), (one, CUkernel::NULL));
    ok!(p, cuKernelGetLibrary(&mut owner, one));
    assert_eq!(owner, library);
    ok!(p, cuKernelGetFunction(&mut function, one));
    let (attribute, mut value) = (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
    ok!(p, cuKernelSetAttribute(attribute, 64 << 10, one, 0));
    ok!(p, cuKernelGetAttribute(&mut value, attribute, one, 0));
    assert_eq!(value, 64 << 10);
    fails!(p, INVALID_VALUE, cuKernelSetAttribute(attribute, c_int::MAX, one, 0));
    // The function of the kernel in the current context is launched as any other.
    let mut name = std::ptr::null();
    ok!(p, cuFuncGetName(&mut name, function));
    // SAFETY: the name lives as long as the library.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"one");
}

unsafe extern "C" fn shared_memory(threads: c_int) -> usize {
    threads as usize * 64
}

#[test]
fn occupancy_follows_the_shared_memory_of_a_block() {
    let p = Program::new();
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"two".as_ptr()));
    let (mut few, mut many, mut grid, mut block) = (0, 0, 0, 0);
    ok!(p, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut many, function, 128, 0, 0));
    ok!(p, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut few, function, 128, 48 << 10, 1));
    assert!(0 < few && few < many, "{few} {many}");
    ok!(p, cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, None, 0, 0));
    assert_eq!((grid > 0, block % 32), (true, 0));
    ok!(p, cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, None, 0, 64));
    assert!(block <= 64, "{block}");
    let size = Some(shared_memory as unsafe extern "C" fn(c_int) -> usize);
    ok!(p, cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, function, size, 0, 0, 0));
    assert_eq!((grid > 0, block % 32), (true, 0));
    fails!(p, INVALID_VALUE, cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, function, size, 0, 0, 2));
}

#[test]
fn files_and_data_of_both_versions_are_linked() {
    let p = Program::new();
    let path = std::env::temp_dir().join(format!("cuarray-sim-link-{}.ptx", std::process::id()));
    std::fs::write(&path, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry file() { ret; }").unwrap();
    let file = CString::new(path.to_str().unwrap()).unwrap();
    let none = std::ptr::null_mut();
    for old in [true, false] {
        let (mut link, mut image, mut size) = (CUlinkState::NULL, std::ptr::null_mut(), 0);
        ok!(p, cuLinkCreate_v2(0, none, none.cast(), &mut link));
        let data: *mut c_void = PTX.as_ptr().cast_mut().cast();
        let length = PTX.count_bytes() + 1;
        if old {
            ok!(p, cuLinkAddData(link, CU_JIT_INPUT_PTX, data, length, c"data".as_ptr(), 0, none, none.cast()));
            ok!(p, cuLinkAddFile(link, CU_JIT_INPUT_PTX, file.as_ptr(), 0, none, none.cast()));
        } else {
            ok!(p, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, data, length, c"data".as_ptr(), 0, none, none.cast()));
            ok!(p, cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, file.as_ptr(), 0, none, none.cast()));
        }
        ok!(p, cuLinkComplete(link, &mut image, &mut size));
        let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
        ok!(p, cuModuleLoadData(&mut module, image));
        ok!(p, cuModuleGetFunction(&mut function, module, c"file".as_ptr()));
        ok!(p, cuModuleGetFunction(&mut function, module, c"one".as_ptr()));
        ok!(p, cuLinkDestroy(link));
        ok!(p, cuModuleUnload(module));
    }
    std::fs::remove_file(&path).unwrap();
}
