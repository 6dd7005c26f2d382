//! Kernels with stated signatures, and launches with more than sixteen arguments.

use crate::driver_fixture::{Fixture, streams};
use cuarray::{Bool8, Complex, Context, DeviceArray, Error, Result, kernel::LaunchConfig, kernel::Module};

/// `mixed` has a parameter of each kind. `sum_of_20` stores the sum of 20 numbers, each times its place.
fn ptx() -> &'static str {
    let names: Vec<String> = (0..20).map(|index| format!("p{index}")).collect();
    let parameters: String = names.iter().map(|name| format!(", .param .u32 {name}")).collect();
    let steps = names
        .iter()
        .enumerate()
        .map(|(index, name)| format!("ld.param.u32 %r1, [{name}]; mad.lo.u32 %r2, %r1, {}, %r2;", index + 1));
    let text = format!(
        ".version 8.0 .target sm_80 .address_size 64
         .visible .entry mixed(.param .u64 mixed_param_0, .param .u64 .ptr .global .align 4 mixed_param_1, .param .f32 mixed_param_2,
             .param .u8 mixed_param_3, .param .align 8 .b8 mixed_param_4[8], .param .u64 mixed_param_5) {{ ret; }}
         .visible .entry named(.param .u32 rows, .param .u32 columns) {{ ret; }}
         .visible .entry sum_of_20(.param .u64 to{parameters}) {{
             .reg .b32 %r<3>; .reg .b64 %rd<2>;
             ld.param.u64 %rd1, [to]; mov.u32 %r2, 0; {} st.global.u32 [%rd1], %r2; ret;
         }}",
        steps.collect::<String>()
    );
    text.leak()
}

mod declared {
    use cuarray::{Bool8, Complex};

    cuarray::kernel! {
        /// With a parameter of each kind.
        pub fn mixed(x: &[f64], y: &mut [i32], factor: f32, flag: Bool8, z: Complex<f32>, n: usize);
        pub fn sum_of_20(
            to: &mut [u32],
            p0: u32, p1: u32, p2: u32, p3: u32, p4: u32, p5: u32, p6: u32, p7: u32, p8: u32, p9: u32,
            p10: u32, p11: u32, p12: u32, p13: u32, p14: u32, p15: u32, p16: u32, p17: u32, p18: u32, p19: u32,
        );
    }

    cuarray::kernel! {
        pub fn too_few(x: &[f64], y: &mut [i32]) = "mixed";
        pub fn wrong_size(x: &[f64], y: &mut [i32], factor: f64, flag: Bool8, z: Complex<f32>, n: usize) = "mixed";
        pub fn array_for_float(x: &[f64], y: &mut [i32], factor: u32, flag: Bool8, z: Complex<f32>, n: usize) = "mixed";
        pub fn float_for_array(x: f64, y: &mut [i32], factor: f32, flag: Bool8, z: Complex<f32>, n: usize) = "mixed";
        pub fn swapped(columns: u32, rows: u32) = "named";
        pub fn renamed(height: u32, width: i32) = "named";
        pub fn absent() = "nothing";
    }
}
use declared::*;

const ONE: LaunchConfig = LaunchConfig::new([1, 1, 1], [1, 1, 1]);

fn message<T>(loaded: Result<T>) -> String {
    let error: Error = loaded.err().unwrap();
    assert!(error.is_invalid_argument(), "{error}");
    error.to_string()
}

#[test]
fn launch_takes_an_argument_for_each_parameter() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let kernel = mixed::load(&context, ptx()).unwrap();
    let x = DeviceArray::<f64, _>::zeros([2, 2], &stream).unwrap();
    let mut y = DeviceArray::<i32, _>::zeros([4], &stream).unwrap();
    let (x, mut y) = (x.acquire(&stream).unwrap(), y.acquire_mut(&stream).unwrap());
    let z = Complex { re: 1.0, im: 2.0 };
    // SAFETY: the kernel does nothing.
    unsafe { kernel.launch(&stream, ONE, &x, &mut y, 2.0, Bool8::from(true), z, 4) }.unwrap();
    // SAFETY: the kernel does nothing.
    unsafe { kernel.launch(&stream, ONE, &x, y.in_place(), 2.0, Bool8::from(true), z, 4) }.unwrap();
}

#[test]
fn twenty_arguments_arrive_in_order_through_typed_and_nested_launches() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let expected: u32 = (1..=20).map(|place| place * (100 + place)).sum();
    let mut to = DeviceArray::<u32, _>::zeros([1], &stream).unwrap();
    let kernel = sum_of_20::load(&context, ptx()).unwrap();
    let mut guard = to.acquire_mut(&stream).unwrap();
    // SAFETY: the kernel writes one number.
    unsafe {
        kernel.launch(
            &stream, ONE, &mut guard, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116,
            117, 118, 119, 120,
        )
    }
    .unwrap();
    assert_eq!(guard.copy_to_host().unwrap(), [expected]);
    guard.copy_from_host(&[0]).unwrap();
    let untyped = context.kernel(ptx(), "sum_of_20").unwrap();
    let first = (101u32, 102u32, 103u32, 104u32, 105u32, 106u32, 107u32, 108u32, 109u32, 110u32);
    let second = (111u32, 112u32, 113u32, (), 114u32, 115u32, 116u32, 117u32, 118u32, (119u32, 120u32));
    // SAFETY: the kernel writes one number.
    unsafe { untyped.launch(&stream, ONE, (&mut guard, first, second)) }.unwrap();
    assert_eq!(guard.copy_to_host().unwrap(), [expected]);
    // SAFETY: the launch is refused.
    let error = unsafe { untyped.launch(&stream, ONE, (&mut guard, first)) }.unwrap_err();
    assert!(error.to_string().contains("takes 21 arguments, got 11"), "{error}");
}

#[test]
fn wrong_signature_is_an_error_that_names_the_parameter() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let text = ptx();
    assert_eq!(
        message(too_few::load(&context, text)),
        "kernel \"mixed\": the signature has 2 parameters (x, y), and the kernel has 6"
    );
    assert!(message(wrong_size::load(&context, text)).ends_with(
        "parameter 2, `factor: f64`, has 8 bytes, and the kernel's has 4 (`.f32 mixed_param_2` in the PTX)"
    ));
    assert!(message(array_for_float::load(&context, text)).ends_with(
        "parameter 2, `factor: u32`, is an integer or an address, and the kernel's is a float (`.f32 mixed_param_2` in the PTX)"
    ));
    let error = message(float_for_array::load(&context, text));
    assert!(
        error.contains("parameter 0, `x: f64`, is a float, and the kernel's is an integer or an address"),
        "{error}"
    );
    let error = message(swapped::load(&context, text));
    assert!(error.ends_with("parameter 0, `columns: u32`, is parameter 1 in the PTX"), "{error}");
    renamed::load(&context, text).unwrap();
    assert!(absent::load(&context, text).unwrap_err().to_string().contains("nothing"));
}

#[test]
fn sizes_come_from_the_ptx_if_the_driver_does_not_report_them() {
    let fixture = Fixture::altered(Default::default(), |api| api.cuFuncGetParamInfo = None);
    let context = fixture.primary();
    assert!(message(wrong_size::load(&context, ptx())).contains("`factor: f64`, has 8 bytes"));
    assert!(message(too_few::load(&context, ptx())).contains("2 parameters"));
    mixed::load(&context, ptx()).unwrap();
    let unknown = |context: &Context| Module::load_ptx(context, ptx()).unwrap().function("mixed").unwrap();
    wrong_size::new(unknown(&context)).unwrap(); // neither source knows the parameters
}

#[test]
fn function_of_a_module_is_checked_by_sizes() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let function = Module::load_ptx(&context, ptx()).unwrap().function("mixed").unwrap();
    mixed::new(function.clone()).unwrap();
    array_for_float::new(function.clone()).unwrap(); // the size agrees, and the type is only in the PTX
    assert!(
        message(wrong_size::new(function)).ends_with("parameter 2, `factor: f64`, has 8 bytes, and the kernel's has 4")
    );
}
