//! The options of the assembler, and the values that they take.

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// No value.
    None,
    /// `true` or `false`.
    Bool,
    Number,
    /// A number of registers, `archmin` or `archmax`.
    Registers,
    /// One of a list.
    OneOf(&'static [&'static str]),
    /// The name of an architecture.
    Architecture,
    Text,
    /// A list with commas. The option may be given several times.
    List,
}

/// An option: its long name, its short name, and its value. A hidden option has no documentation, but callers use it.
#[derive(Debug)]
pub(super) struct Known {
    pub long: &'static str,
    pub short: &'static str,
    pub value: Value,
}

const fn known(long: &'static str, short: &'static str, value: Value) -> Known {
    Known { long, short, value }
}

/// The options of NVIDIA's assembler 13.5.
pub(super) const OPTIONS: &[Known] = &[
    known("Ofast-compile", "Ofc", Value::OneOf(&["max", "mid", "min", "0"])),
    known("allow-expensive-optimizations", "allow-expensive-optimizations", Value::Bool),
    known("apply-controls", "apply-controls", Value::Text),
    known("compile-as-tools-patch", "astoolspatch", Value::None),
    known("compile-only", "c", Value::None),
    known("compiler-annotations", "annotate", Value::None),
    known("def-load-cache", "dlcm", Value::Text),
    known("def-store-cache", "dscm", Value::Text),
    known("device-debug", "g", Value::None),
    known("device-function-maxrregcount", "func-maxrregcount", Value::Registers),
    known("device-stack-protector", "device-stack-protector", Value::Bool),
    known("disable-optimizer-constants", "disable-optimizer-consts", Value::None),
    known("disable-warnings", "w", Value::None),
    known("dont-merge-basicblocks", "no-bb-merge", Value::None),
    known("enable-func-clone-sc", "enable-func-clone-sc", Value::Bool),
    known("entry", "e", Value::List),
    known("extensible-whole-program", "ewp", Value::None),
    known("fmad", "fmad", Value::Bool),
    known("force-load-cache", "flcm", Value::Text),
    known("force-store-cache", "fscm", Value::Text),
    known("g-tensor-memory-access-check", "g-tmem-access-check", Value::None),
    known("generate-line-info", "lineinfo", Value::None),
    known("gno-fabric-access-check", "gno-fabric-access-check", Value::None),
    known("gno-tensor-memory-access-check", "gno-tmem-access-check", Value::None),
    known("gpu-name", "arch", Value::Architecture),
    known("help", "h", Value::None),
    known("input-as-string", "ias", Value::Text),
    known("jobserver", "jobserver", Value::None),
    known("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", Value::None),
    known("list-arch", "arch-ls", Value::None),
    known("list-version", "version-ls", Value::None),
    known("machine", "m", Value::OneOf(&["64"])),
    known("make-errors-visible-at-exit", "make-errors-visible-at-exit", Value::None),
    known("maxntid", "maxntid", Value::List),
    known("maxrregcount", "maxrregcount", Value::Registers),
    known("minnctapersm", "minnctapersm", Value::Number),
    known("opt-level", "O", Value::Number),
    known("optimize-float-atomics", "opt-fp-atomics", Value::None),
    known("options-file", "optf", Value::List),
    known("output-file", "o", Value::Text),
    known("override-directive-values", "override-directive-values", Value::None),
    known("position-independent-code", "pic", Value::Bool),
    known("preserve-relocs", "preserve-relocs", Value::None),
    known("regAllocOptLevel", "regAllocOptLevel", Value::Number),
    known("register-usage-level", "regUsageLevel", Value::Number),
    known("return-at-end", "ret-end", Value::None),
    known("sanitize", "sanitize", Value::OneOf(&["memcheck", "threadsteer"])),
    known("sp-bounds-check", "sp-bounds-check", Value::None),
    known("split-compile", "split-compile", Value::Number),
    known(
        "suppress-async-bulk-multicast-advisory-warning",
        "suppress-async-bulk-multicast-advisory-warning",
        Value::None,
    ),
    known("suppress-debug-info", "suppress-debug-info", Value::None),
    known("suppress-double-demote-warning", "suppress-double-demote-warning", Value::None),
    known("suppress-position-independent-code-warning", "suppress-position-independent-code-warning", Value::None),
    known("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", Value::None),
    known("suppress-stack-size-warning", "suppress-stack-size-warning", Value::None),
    known("uumn", "uumn", Value::None),
    known("verbose", "v", Value::None),
    known("verbose2", "v2", Value::None),
    known("version", "V", Value::None),
    known("warn-on-double-precision-use", "warn-double-usage", Value::None),
    known("warn-on-local-memory-usage", "warn-lmem-usage", Value::None),
    known("warn-on-spills", "warn-spills", Value::None),
    known("warning-as-error", "Werror", Value::None),
];

impl Known {
    /// The message for a value that the option does not take; `None` if it takes the value.
    pub fn refusal(&self, value: &str) -> Option<String> {
        let undefined = || Some(format!("Value '{value}' is not defined for option '{}'", self.long));
        match self.value {
            Value::Bool if !matches!(value, "true" | "false") => Some(format!("'{value}': expected true or false")),
            Value::Number if value.parse::<i64>().is_err() => Some(format!("'{value}': expected a number")),
            Value::Registers if !matches!(value, "archmin" | "archmax") && value.parse::<i64>().is_err() => {
                Some(format!("Invalid value '{value}' for option '{}'", self.long))
            }
            Value::OneOf(values) if !values.contains(&value) => match self.long {
                "Ofast-compile" => Some(format!(
                    "Invalid value for --Ofast-compile/-Ofc ({value}), is not 'max', 'mid', 'min', or '0'"
                )),
                _ => undefined(),
            },
            Value::Architecture if !super::architecture::is_known(value) => undefined(),
            _ => None,
        }
    }
}
