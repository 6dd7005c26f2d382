//! Scrambled directions: products of random matrices with Sobol's directions, and a random shift, by J. Matousek (1998).
//!
//! cuRAND does not publish how its matrices were drawn. Those here are drawn by Philox from the number of the dimension.

use crate::sequences::philox;

/// The key of Philox.
const KEY: u64 = 0x736f_626f_6c36_3421;

/// The random word of a dimension with this index.
fn word(dimension: usize, index: u64) -> u64 {
    let [first, second, third, fourth] = philox::words(dimension as u64, index / 2, KEY);
    let (low, high) = if index.is_multiple_of(2) { (first, second) } else { (third, fourth) };
    u64::from(high) << 32 | u64::from(low)
}

/// The shift of a dimension.
pub(crate) fn shift(dimension: usize) -> u64 {
    word(dimension, 64)
}

/// The product of the dimension's matrix with its directions. The matrix is lower triangular with a diagonal of ones, so each direction keeps
/// its highest bit.
pub(crate) fn scrambled(dimension: usize, directions: [u64; 64]) -> [u64; 64] {
    let columns: [u64; 64] = std::array::from_fn(|index| {
        let diagonal = 1 << (63 - index);
        word(dimension, index as u64) & (diagonal - 1) | diagonal
    });
    directions.map(|direction| {
        let (mut product, mut rest) = (0, direction);
        while rest != 0 {
            let index = rest.leading_zeros() as usize;
            product ^= columns[index];
            rest ^= 1 << (63 - index);
        }
        product
    })
}

#[cfg(test)]
mod tests {
    use super::{scrambled, shift};
    use crate::sobol::directions;

    #[test]
    fn scrambled_directions_keep_their_highest_bits() {
        for dimension in [0, 1, 77] {
            let pairs = scrambled(dimension, directions(dimension)).into_iter().zip(directions(dimension));
            assert!(pairs.into_iter().all(|(scrambled, plain)| scrambled.leading_zeros() == plain.leading_zeros()));
        }
    }

    #[test]
    fn dimensions_have_matrices_and_shifts_of_their_own() {
        let one = [1 << 63; 64];
        assert_ne!(scrambled(0, one), scrambled(1, one));
        assert_ne!(shift(0), shift(1));
    }
}
