//! A link with options and inputs of the fuzzer.

use cuarray_toolchain::nvjitlink::Link;

/// The first lines are options, up to an empty line. The rest are inputs, each after a byte for its kind, separated by the byte 0xff.
/// A link that is complete has an image that reads back.
pub fn check(data: &[u8]) {
    let split = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let options = String::from_utf8_lossy(&data[..split]).into_owned();
    // LTO-IR would be compiled by NVIDIA's library, if it is installed.
    let options = options.lines().filter(|option| *option != "-lto" && *option != "-dlto");
    let (mut link, result) = Link::new(options, 13);
    if result.is_err() {
        return;
    }
    for input in data.get(split + 2..).unwrap_or_default().split(|byte| *byte == 0xff) {
        if let [kind, rest @ ..] = input {
            let _ = link.add(i32::from(*kind) - i32::from(b'0'), rest, "input");
        }
    }
    if link.complete().is_ok() {
        let image = link.cubin().expect("a complete link has an image");
        assert!(cuarray_ptx::Image::read(image).is_ok());
    }
    assert!(link.errors.is_empty() || link.errors.ends_with('\n'));
}
