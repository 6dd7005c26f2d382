//! Functions of LTO-IR that PTX calls.
//!
//! NVIDIA's linker drops the functions of LTO-IR that no kernel of the LTO-IR calls. A variable with their addresses keeps
//! them. It is compiled from CUDA C++ and added to the LTO-IR, and taken out of the linked PTX.

use std::fmt::Write;

/// The name of the variable with the addresses.
const VARIABLE: &str = "cuarray_kept_functions";

/// The source of the variable for functions of these names.
pub(super) fn source(names: &[String]) -> String {
    let mut text = String::new();
    for name in names {
        let _ = writeln!(text, "extern \"C\" __device__ void {name}();");
    }
    let _ = writeln!(text, "extern \"C\" __device__ void (*{VARIABLE}[])() = {{{}}};", names.join(", "));
    text
}

/// Takes the variable out of linked PTX, and makes the functions visible for other modules.
pub(super) fn publish(ptx: &str, names: &[String]) -> String {
    let mut text = String::with_capacity(ptx.len() + 16 * names.len());
    let mut is_variable = false;
    for line in ptx.split_inclusive('\n') {
        let words = || line.split(|c: char| !c.is_ascii_alphanumeric() && !"_$%".contains(c));
        is_variable |= line.starts_with('.') && words().any(|word| word == VARIABLE);
        if is_variable {
            is_variable = !line.trim_end().ends_with(';');
            continue;
        }
        if line.starts_with(".func") && words().any(|word| names.iter().any(|name| name == word)) {
            text.push_str(".visible ");
        }
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["one".to_owned(), "two$b".to_owned()]
    }

    #[test]
    fn source_declares_each_function_and_takes_its_address() {
        assert_eq!(
            source(&names()),
            "extern \"C\" __device__ void one();\nextern \"C\" __device__ void two$b();\n\
             extern \"C\" __device__ void (*cuarray_kept_functions[])() = {one, two$b};\n"
        );
    }

    #[test]
    fn linked_ptx_loses_the_variable_and_shows_the_functions() {
        let linked = ".target sm_90\n\
            .func  (.param .b64 func_retval0) one\n(\n\t.param .b32 one_param_0\n)\n;\n\
            .func inner(.param .b32 one_of_two)\n;\n\
            .visible .global .align 8 .u64 cuarray_kept_functions[2] = {one, two$b};\n\
            .visible .global .align 4 .b8 g[16];\n\
            .func two$b()\n{\n\tcall one, ();\n}\n";
        let expected = linked
            .replace(".func  (.param .b64 func_retval0) one", ".visible .func  (.param .b64 func_retval0) one")
            .replace(".func two$b", ".visible .func two$b")
            .replace(".visible .global .align 8 .u64 cuarray_kept_functions[2] = {one, two$b};\n", "");
        assert_eq!(publish(linked, &names()), expected);
    }
}
