//! Options of a link, as the manual of nvJitLink lists them.

use super::{Failure, Result};

/// The architectures that a library of CUDA 13 links for.
const ARCHITECTURES: [u32; 12] = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];
/// The architectures that only a library of CUDA 12 links for.
const OLD_ARCHITECTURES: [u32; 9] = [50, 52, 53, 60, 61, 62, 70, 72, 101];

/// Options without a value that this linker ignores, or passes on to NVIDIA's linker with LTO-IR.
const FLAGS: [&str; 8] = [
    "-g",
    "-lineinfo",
    "-time",
    "-nvvm-latest",
    "-optimize-unused-variables",
    "-no-cache",
    "-device-stack-protector",
    "-r",
];

/// Options with a value that this linker ignores, or passes on to NVIDIA's linker with LTO-IR.
const VALUED: [&str; 11] = [
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-kernels-used=",
    "-variables-used=",
    "-Xptxas=",
    "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=",
    "-device-stack-protector=",
];

/// The options of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The architecture: ten times a compute capability.
    pub architecture: u32,
    /// Whether LTO-IR is compiled.
    pub lto: bool,
    /// Whether PTX is the result, and not an image for the driver.
    pub ptx: bool,
    /// The limit of registers of a thread; 0 for none.
    pub max_registers: u32,
    /// Whether the info log has messages.
    pub verbose: bool,
    /// The options that NVIDIA's linker gets with LTO-IR: those of the program, with a virtual architecture.
    pub forwarded: Vec<String>,
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// The result code and the message of the first invalid option.
    pub fn parse<'a>(options: impl IntoIterator<Item = &'a str>, major: u32) -> Result<Options> {
        let mut read = Options::default();
        let mut is_virtual = false;
        for option in options {
            if let Some(value) = option.strip_prefix("-arch=") {
                let (number, suffix) = architecture(value).ok_or_else(|| missing(option))?;
                let is_old = major < 13 && OLD_ARCHITECTURES.contains(&number);
                if !is_old && !ARCHITECTURES.contains(&number) {
                    return Err(match number < ARCHITECTURES[0] || OLD_ARCHITECTURES.contains(&number) {
                        true => unknown(Failure::UNSUPPORTED_ARCH, "UNSUPPORTED_ARCH: unsupported", number),
                        false => unknown(Failure::UNRECOGNIZED_ARCH, "UNRECOGNIZED_ARCH: unrecognized", number),
                    });
                }
                read.architecture = number;
                is_virtual = value.starts_with("compute_");
                read.forwarded.retain(|option| !option.starts_with("-arch="));
                read.forwarded.push(format!("-arch=compute_{number}{suffix}"));
                continue;
            }
            if option == "-lto" || option == "-dlto" {
                read.lto = true;
                continue;
            } else if option == "-ptx" {
                read.ptx = true;
                continue;
            } else if option == "-verbose" {
                read.verbose = true;
            } else if let Some(value) = option.strip_prefix("-maxrregcount=") {
                read.max_registers = given(option, value)?.parse().unwrap_or(0);
            } else if let Some(value) = option.strip_prefix("-Ofc=") {
                if !["0", "min", "mid", "max"].contains(&given(option, value)?) {
                    let text = format!(
                        "unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and max are supported."
                    );
                    return Err(Failure::new(Failure::UNRECOGNIZED_OPTION, text));
                }
            } else if let Some(value) = option.strip_prefix("-O").filter(|value| !value.is_empty()) {
                if value != "0" && value != "3" {
                    let text = format!("unsupported value of -O: {value}. Only 0 and 3 are supported.");
                    return Err(Failure::new(Failure::UNRECOGNIZED_OPTION, text));
                }
            } else if let Some(name) = VALUED.iter().find(|name| option.starts_with(**name)) {
                given(option, &option[name.len()..])?;
            } else if !FLAGS.contains(&option) {
                return Err(Failure::new(Failure::UNRECOGNIZED_OPTION, format!("unrecognized option: {option}")));
            }
            // A relocatable result would keep LTO-IR, which only NVIDIA's linker reads again.
            if option != "-r" {
                read.forwarded.push(option.to_owned());
            }
        }
        if read.architecture == 0 {
            return Err(Failure::new(Failure::MISSING_ARCH, String::new()));
        }
        if read.ptx && !read.lto {
            return Err(Failure::new(Failure::INCOMPATIBLE_OPTIONS, "ERROR: -ptx requires -lto".to_owned()));
        }
        if is_virtual && !read.ptx {
            return Err(Failure::new(Failure::INCOMPATIBLE_OPTIONS, "ERROR: virtual arch requires -ptx".to_owned()));
        }
        read.forwarded.extend(["-lto".to_owned(), "-ptx".to_owned()]);
        Ok(read)
    }

    /// The option of the virtual architecture, for compilers.
    pub fn virtual_architecture(&self) -> String {
        self.forwarded.iter().find(|option| option.starts_with("-arch=")).cloned().unwrap_or_default()
    }
}

/// The number and the suffix of an architecture, such as `sm_90a`.
fn architecture(value: &str) -> Option<(u32, &str)> {
    let name = ["sm_", "compute_", "lto_"].iter().find_map(|prefix| value.strip_prefix(prefix))?;
    let digits = name.trim_end_matches(['a', 'f']);
    let suffix = &name[digits.len()..];
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && suffix.len() <= 1).then(|| Some((digits.parse().ok()?, suffix)))?
}

/// The value of an option, which must not be empty.
fn given<'a>(option: &str, value: &'a str) -> Result<&'a str> {
    if value.is_empty() { Err(missing(option)) } else { Ok(value) }
}

fn missing(option: &str) -> Failure {
    let text = format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({option})");
    Failure::new(Failure::UNRECOGNIZED_OPTION, text)
}

fn unknown(code: i32, reason: &str, number: u32) -> Failure {
    Failure::new(code, format!("ERROR NVJITLINK_ERROR_{reason} architecture (compute_{number})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(options: &[&str]) -> (i32, String) {
        match Options::parse(options.iter().copied(), 13) {
            Ok(_) => (0, String::new()),
            Err(failure) => (failure.code, failure.text),
        }
    }

    /// The codes and messages were compared with nvJitLink 13.5.
    #[test]
    fn invalid_options_have_the_codes_and_messages_of_nvjitlink() {
        let cases: [(&[&str], i32, &str); 15] = [
            (&[], 2, ""),
            (&["-arch=compute_90"], 11, "ERROR: virtual arch requires -ptx"),
            (&["-arch=sm_90", "-foo"], 1, "unrecognized option: -foo"),
            (&["-arch=sm_90", "-O1"], 1, "unsupported value of -O: 1. Only 0 and 3 are supported."),
            (&["-arch=sm_90", "-O"], 1, "unrecognized option: -O"),
            (&["-arch=sm_12"], 17, "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_12)"),
            (&["-arch=sm_70"], 17, "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_70)"),
            (&["-arch=sm_999"], 16, "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_999)"),
            (&["-arch=foo"], 1, "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=foo)"),
            (&["-arch=sm_90", "-ptx"], 11, "ERROR: -ptx requires -lto"),
            (&["-arch=compute_90", "-lto"], 11, "ERROR: virtual arch requires -ptx"),
            (
                &["-arch=sm_90", "-kernels-used="],
                1,
                "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-kernels-used=)",
            ),
            (&["-arch", "sm_90"], 1, "unrecognized option: -arch"),
            (&["-arch=sm_90", ""], 1, "unrecognized option: "),
            (
                &["-arch=sm_90", "-Ofc=foo"],
                1,
                "unsupported value of --Ofast-compile (-Ofc): foo. Only 0, min, mid, and max are supported.",
            ),
        ];
        for (options, expected, text) in cases {
            assert_eq!(code(options), (expected, text.to_owned()), "{options:?}");
        }
    }

    #[test]
    fn documented_options_are_accepted() {
        let options = "-maxrregcount=32 -time -verbose -lto -O3 -Ofc=max -g -lineinfo -ftz=1 -prec-div=0 -prec-sqrt=1 -fma=0 \
            -kernels-used=a -kernels-used=b -variables-used=v -optimize-unused-variables -Xptxas=-v -nvvm-latest -split-compile=0 \
            -split-compile-extended=2 -jump-table-density=101 -no-cache -device-stack-protector -r";
        for architecture in ["sm_90", "sm_90a", "sm_100f", "sm_121a", "lto_90", "sm_75"] {
            let arch = format!("-arch={architecture}");
            assert_eq!(
                code(&[&[arch.as_str()][..], &options.split(' ').collect::<Vec<_>>()].concat()).0,
                0,
                "{architecture}"
            );
        }
    }

    #[test]
    fn the_last_architecture_counts() {
        let options = Options::parse(["-arch=sm_90", "-g", "-arch=sm_80"], 13).unwrap();
        assert_eq!(options.architecture, 80);
        assert_eq!(options.forwarded, ["-g", "-arch=compute_80", "-lto", "-ptx"]);
    }

    #[test]
    fn libraries_of_cuda_12_link_for_older_devices() {
        assert_eq!(Options::parse(["-arch=sm_70"], 12).map(|options| options.architecture), Ok(70));
    }
}
