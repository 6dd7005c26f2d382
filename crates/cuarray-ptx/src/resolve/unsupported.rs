//! Documented instructions that are not supported, and words that PTX has.
//!
//! PTX manual: [instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#instructions). An instruction that
//! the manual does not describe is invalid PTX, as it is for NVIDIA's assembler.

use super::builder::Builder;
use super::operand::spelled;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::{Space, Type};

/// The opcodes of an instruction group that is not supported, and the reason.
const UNSUPPORTED: &[(&[&str], &str)] = &[
    (&["wgmma", "tcgen05"], "asynchronous instructions of matrices are not supported"),
    (&["multimem"], "multicast memory is not supported"),
    (&["tensormap", "clusterlaunchcontrol"], "the instruction is not supported"),
];

/// The beginnings of the names of device functions that the CUDA runtime documents and the machine does not provide.
const DEVICE_RUNTIME: &[(&str, &str)] = &[
    ("cudaGraphKernelNode", "no module defines the function: kernels cannot change nodes of graphs here"),
    ("cudaGraphLaunch", "no module defines the function: kernels cannot launch graphs here"),
    (
        "cudaLaunchDevice",
        "no module defines the function: kernels cannot launch kernels here (dynamic parallelism): launch them from the host",
    ),
    (
        "__cudaCDP2LaunchDevice",
        "no module defines the function: kernels cannot launch kernels here (dynamic parallelism): launch them from the host",
    ),
    (
        "__cudaCDP2GetParameterBuffer",
        "no module defines the function: kernels cannot launch kernels here (dynamic parallelism): launch them from the host",
    ),
    (
        "__cudaCDP2",
        "no module defines the function: kernels have only cudaMalloc, cudaFree and the last error of the device runtime here",
    ),
];

/// Modifiers that are neither types nor spaces nor shapes. A prefix that ends in `::` stands for all words that begin with it.
const WORDS: &str = "\
    rn rz rm rp rna rs rni rzi rmi rpi sat satfinite relu ftz noftz oob approx full cc lo hi wide NaN xorsign abs \
    scaled pack unpack eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan finite infinite number notanumber \
    normal subnormal add sub min max inc dec cas exch and or xor popc not clamp wrap mul shiftamt l r f4e b4e rc8 \
    ecl ecr rc16 shr7 shr15 po rev fix v2 v4 v8 h0 h1 h10 h32 x y z w a b c d g tf32 e4m3 e5m2 e4m3x2 e5m2x2 e4m3x4 \
    e5m2x4 e2m1 e2m1x2 e2m1x4 e2m3 e2m3x2 e2m3x4 e3m2 e3m2x2 e3m2x4 ue8m0 ue8m0x2 ue4m3 s2f6x2 u4 s4 b6x16_p32 \
    b4x16_p64 b6p2x16 f32x2 s8x4 u8x4 weak relaxed acquire release acq_rel sc volatile mmio cta cluster gpu sys gl \
    ca cg cs lu cv wb wt nc L1 L2 L1:: L2:: level:: evict_last evict_normal evict_first unified tensormap to base \
    shared:: param:: fractional range cvt fence proxy alias async async:: generic tensormap:: sync_restrict:: \
    mbarrier_init read write bulk bulk_group commit_group wait_group wait_all prefetch multicast:: cp_mask \
    ignore_oob mbarrier mbarrier:: completion tile tile:: im2col im2col:: im2col_no_offs reduce tensor 1d 2d 3d 4d \
    5d noinc init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait parity pending_count no_complete \
    ld_reduce st red acc:: cp_fenceproxy replace try_cancel query_cancel is_canceled get_first_ctaid async_group \
    cp_reduce uni idx sync aligned warp all any ballot up down bfly noncta wait launch_dependents mode nanosleep \
    load store row col sp sp:: block_scale scale_vec:: kind:: cta_group:: mma_async trans alloc dealloc \
    relinquish_alloc_permit shift commit mma ws cp ld a1d a2d cube acube 2dms a2dms grad level texref samplerref \
    surfref trap zero p width height depth channel_data_type channel_order normalized_coords \
    force_unnormalized_coords filter_mode addr_mode_0 addr_mode_1 addr_mode_2 array_size num_mipmap_levels \
    num_samples memory_layout entry u2 s2";

/// Words with a size, such as `m16n8k16`, `x4`, `32x32b`.
fn is_shape(word: &str) -> bool {
    let digits = word.bytes().any(|byte| byte.is_ascii_digit());
    digits && word.bytes().all(|byte| byte.is_ascii_digit() || b"mnkxb".contains(&byte))
}

/// Whether some documented instruction has a modifier.
fn is_documented(word: &str) -> bool {
    let listed = |known: &str| known == word || (known.ends_with("::") && word.starts_with(known));
    WORDS.split(' ').any(listed) || Type::named(word).is_some() || Space::named(word).is_some() || is_shape(word)
}

impl<'a> Builder<'_, 'a> {
    /// Returns the error for an opcode that is not executed.
    pub(super) fn not_executed<T>(&self, instruction: &Instruction<'a>) -> Result<T, Error> {
        let group = UNSUPPORTED.iter().find(|(opcodes, _)| opcodes.contains(&instruction.opcode));
        Err(match group {
            Some((_, message)) => self.unsupported(&spelled(instruction), message),
            None => self.wrong(&spelled(instruction), "the instruction does not exist"),
        })
    }

    /// Returns the error for a call of a function that no module defines.
    pub(super) fn undefined(&self, name: &str) -> Error {
        match DEVICE_RUNTIME.iter().find(|(beginning, _)| name.starts_with(beginning)) {
            Some((_, message)) => self.unsupported(name, message),
            None => Error::undefined(self.location.line, name, "no module defines the function"),
        }
    }

    /// Returns the error for an unsupported form of an instruction, or for a modifier that PTX does not have.
    pub(super) fn form(&self, instruction: &Instruction<'_>, message: &str) -> Error {
        match instruction.modifiers.iter().find(|word| !is_documented(word)) {
            Some(word) => self.wrong(&spelled(instruction), &format!("the modifier .{word} does not exist")),
            None => self.unsupported(&spelled(instruction), message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UNSUPPORTED, WORDS, is_shape};
    use crate::Error;
    use crate::grammar::parse;
    use crate::grammar::types::{Space, Type};
    use crate::resolve::resolve;

    fn error(instruction: &str) -> Error {
        let source = format!(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{ {instruction} }}");
        let module = parse(&source).unwrap();
        resolve(std::slice::from_ref(&module)).err().unwrap_or_else(|| panic!("{instruction} was taken"))
    }

    #[test]
    fn every_unsupported_opcode_gives_the_message_of_its_row() {
        for (opcode, message) in
            UNSUPPORTED.iter().flat_map(|(opcodes, message)| opcodes.iter().map(move |o| (o, message)))
        {
            let error = error(&format!("{opcode}.sync;"));
            assert!(error.unsupported && error.to_string().contains(message), "{opcode}: {error}");
        }
    }

    #[test]
    fn every_word_is_named_once_and_is_no_type_space_or_shape() {
        let words: Vec<_> = WORDS.split(' ').collect();
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word), "{word} is named twice");
            assert!(Type::named(word).is_none() && Space::named(word).is_none() && !is_shape(word), "{word}");
        }
    }
}
