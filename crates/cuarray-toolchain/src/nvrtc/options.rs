//! The option of NVRTC that names the architecture.

/// The names of the option.
const NAMES: [&str; 2] = ["--gpu-architecture", "-arch"];
/// The starts of options whose result is not machine code.
const OTHER_RESULTS: [&str; 8] =
    ["-dlto", "--dlink-time-opt", "-lto", "--gen-opt-lto", "-gen-opt-lto", "--optix-ir", "-optix-ir", "--tile-ir"];

/// Replaces a device's architecture, as `sm_90`, with the virtual one, `compute_90`. Returns `None` if the options
/// request no machine code.
pub fn virtual_architecture(options: &[String]) -> Option<Vec<String>> {
    if options.iter().any(|option| OTHER_RESULTS.iter().any(|other| option.trim().starts_with(other))) {
        return None;
    }
    let mut replaced = options.to_vec();
    let mut found = false;
    let mut is_value = false;
    for option in &mut replaced {
        let trimmed = option.trim();
        let name = NAMES.iter().find(|name| trimmed.starts_with(**name));
        // The value follows the name, or is the next option.
        let value = match name.and_then(|name| trimmed.strip_prefix(name)) {
            Some("") => {
                is_value = true;
                continue;
            }
            Some(rest) if rest.starts_with(['=', ' ']) => rest[1..].trim_start(),
            Some(_) => "",
            None if is_value => trimmed,
            None => "",
        };
        is_value = false;
        if let Some(number) = value.strip_prefix("sm_") {
            let name = name.map(|name| format!("{name}=")).unwrap_or_default();
            *option = format!("{name}compute_{number}");
            found = true;
        }
    }
    found.then_some(replaced)
}

/// Whether the options request the lines of the source.
pub(super) fn wants_lines(options: &[String]) -> bool {
    const LINES: [&str; 6] =
        ["-lineinfo", "--lineinfo", "--generate-line-info", "-generate-line-info", "-G", "--device-debug"];
    options.iter().any(|option| LINES.contains(&option.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(options: &[&str]) -> Option<Vec<String>> {
        virtual_architecture(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    fn some(options: &[&str]) -> Option<Vec<String>> {
        Some(options.iter().map(|option| (*option).to_owned()).collect())
    }

    #[test]
    fn architecture_of_a_device_becomes_virtual_in_every_form_of_the_option() {
        assert_eq!(replaced(&["-arch=sm_90", "-G"]), some(&["-arch=compute_90", "-G"]));
        assert_eq!(replaced(&["--gpu-architecture=sm_90a"]), some(&["--gpu-architecture=compute_90a"]));
        assert_eq!(replaced(&[" -arch sm_100f"]), some(&["-arch=compute_100f"]));
        assert_eq!(replaced(&["-I", "x", "-arch", "sm_75"]), some(&["-I", "x", "-arch", "compute_75"]));
        assert_eq!(replaced(&["-arch=sm_90", "-arch=sm_80"]), some(&["-arch=compute_90", "-arch=compute_80"]));
    }

    #[test]
    fn other_options_are_kept() {
        for options in
            [&[][..], &["-arch=compute_90"], &["-arch"], &["-Dx=sm_90"], &["-D", "sm_90"], &["-architecture=sm_90"]]
        {
            assert_eq!(replaced(options), None, "{options:?}");
        }
    }

    #[test]
    fn lines_are_requested_by_each_form_of_the_option() {
        let wants = |option: &str| wants_lines(&["-arch=sm_90".to_owned(), option.to_owned()]);
        assert!(["-lineinfo", "--generate-line-info", "-G", " -lineinfo"].iter().all(|option| wants(option)));
        assert!(!["-g", "-DG", "-I"].iter().any(|option| wants(option)));
    }

    #[test]
    fn requests_for_lto_ir_are_kept() {
        for option in ["-dlto", "--dlink-time-opt", "--optix-ir", "-dlto "] {
            assert_eq!(replaced(&["-arch=sm_90", option]), None, "{option}");
        }
    }
}
