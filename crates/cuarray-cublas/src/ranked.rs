//! Updates of symmetric and Hermitian matrices by products of one or two others.

use crate::arguments::{Call, Given, Op, fill, leading, order, size};
use crate::handle::Handle;
use crate::layout::{Fill, Stored};
use crate::product::{View, multiply};
use crate::scalar::Scalar;
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasFillMode_t, cublasOperation_t};

/// `cublas<t>syrk`.
pub(crate) fn syrk<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Symmetric, twice: false };
    update.enqueue(call, alpha, (a, lda), None, beta, (c, ldc))
}

/// `cublas<t>herk`.
pub(crate) fn herk<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T::Real,
    a: *const T,
    lda: i64,
    beta: *const T::Real,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Hermitian, twice: false };
    update.enqueue_real(call, alpha, (a, lda), beta, (c, ldc))
}

/// `cublas<t>syr2k`.
pub(crate) fn syr2k<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Symmetric, twice: true };
    update.enqueue(call, alpha, (a, lda), Some((b, ldb)), beta, (c, ldc))
}

/// `cublas<t>syrkx`.
pub(crate) fn syrkx<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Symmetric, twice: false };
    update.enqueue(call, alpha, (a, lda), Some((b, ldb)), beta, (c, ldc))
}

/// `cublas<t>her2k`.
pub(crate) fn her2k<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T::Real,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Hermitian, twice: true };
    update.enqueue_mixed(call, alpha, (a, lda), Some((b, ldb)), beta, (c, ldc))
}

/// `cublas<t>herkx`.
pub(crate) fn herkx<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T::Real,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let update = Update { uplo, trans, size: [n, k], kind: Kind::Hermitian, twice: false };
    update.enqueue_mixed(call, alpha, (a, lda), Some((b, ldb)), beta, (c, ldc))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Symmetric,
    Hermitian,
}

/// An update of a triangle by a product of order `n` and depth `k`.
struct Update {
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    size: [i64; 2],
    kind: Kind,
    /// Whether the product with the factors exchanged is added.
    twice: bool,
}

impl Update {
    /// With factors that are real.
    fn enqueue_real<T: Scalar>(
        self,
        call: Call<'_>,
        alpha: Given<T::Real>,
        a: (*const T, i64),
        beta: Given<T::Real>,
        c: (*mut T, i64),
    ) -> Outcome {
        self.of(call, alpha, T::real, a, None, beta, T::real, c)
    }

    /// With a real factor of `c`.
    fn enqueue_mixed<T: Scalar>(
        self,
        call: Call<'_>,
        alpha: Given<T>,
        a: (*const T, i64),
        b: Option<(*const T, i64)>,
        beta: Given<T::Real>,
        c: (*mut T, i64),
    ) -> Outcome {
        self.of(call, alpha, |alpha| alpha, a, b, beta, T::real, c)
    }

    fn enqueue<T: Scalar>(
        self,
        call: Call<'_>,
        alpha: Given<T>,
        a: (*const T, i64),
        b: Option<(*const T, i64)>,
        beta: Given<T>,
        c: (*mut T, i64),
    ) -> Outcome {
        self.of(call, alpha, |alpha| alpha, a, b, beta, |beta| beta, c)
    }

    fn of<T: Scalar, A: Scalar, B: Scalar>(
        self,
        mut call: Call<'_>,
        alpha: Given<A>,
        of_alpha: fn(A) -> T,
        (a, lda): (*const T, i64),
        b: Option<(*const T, i64)>,
        beta: Given<B>,
        of_beta: fn(B) -> T,
        (c, ldc): (*mut T, i64),
    ) -> Outcome {
        let (fill, op) = (fill(self.uplo)?, Op::of(self.trans)?);
        // The transpose that the kind of matrix has no product for.
        let wrong = if self.kind == Kind::Hermitian { Op::Transpose } else { Op::Adjoint };
        if T::IS_COMPLEX && op == wrong {
            return Err(INVALID_VALUE);
        }
        let [n, k] = self.size.map(size);
        let (n, k) = (order(n?)?, k?);
        let shape = op.stored(n, k);
        let a = Stored::of(a, shape, leading(lda, shape.0)?);
        let b = b.map(|(b, ldb)| Outcome::Ok(Stored::of(b, shape, leading(ldb, shape.0)?))).transpose()?;
        let c = Stored::of(c.cast_const(), (n, n), leading(ldc, n)?);
        let no_product = alpha.is(A::default()) || k == 0;
        if n == 0 || (no_product && beta.is(B::one())) {
            return Ok(());
        }
        let inputs = match no_product {
            true => None,
            false => {
                let a = call.multiplied(c"A", a.region(), alpha)?;
                Some((a, b.map(|b| call.multiplied(c"B", b.region(), alpha)).transpose()?))
            }
        };
        let c = call.scaled(c"C", c.triangle(fill, true), beta)?;
        let (kind, twice) = (self.kind, self.twice);
        call.computes(move |data| {
            let (alpha, beta) = (of_alpha(alpha.value(data)), of_beta(beta.value(data)));
            let c = data.take::<T>(c);
            let mut product = vec![T::default(); n * n];
            if let Some((a, b)) = inputs {
                let a: &[T] = data.take::<T>(a);
                let b: &[T] = b.map_or(a, |b| data.take::<T>(b));
                ranked(&mut product, (n, k), alpha, a, b, (kind, op));
                if twice {
                    let alpha = if kind == Kind::Hermitian { alpha.conj() } else { alpha };
                    ranked(&mut product, (n, k), alpha, b, a, (kind, op));
                }
            }
            combine(c, n, beta, &product, fill, kind);
        })
    }
}

/// Adds `alpha * op(a) * op(b)^T`, or with the adjoint of `op(b)`.
fn ranked<T: Scalar>(product: &mut [T], (n, k): (usize, usize), alpha: T, a: &[T], b: &[T], (kind, op): (Kind, Op)) {
    let conjugate = |numbers: &[T]| numbers.iter().map(|number| number.conj()).collect::<Vec<T>>();
    let is_conjugated = kind == Kind::Hermitian && T::IS_COMPLEX;
    let rows = op.stored(n, k).0;
    let view = |numbers| {
        let view = View::columns(numbers, rows);
        if op.swaps() { view.transposed() } else { view }
    };
    // Of an adjoint, the left factor is conjugated; otherwise the right one.
    match (is_conjugated, op.swaps()) {
        (false, _) => multiply([n, n, k], alpha, view(a), view(b).transposed(), T::one(), product, (1, n)),
        (true, true) => {
            multiply([n, n, k], alpha, view(&conjugate(a)), view(b).transposed(), T::one(), product, (1, n));
        }
        (true, false) => {
            multiply([n, n, k], alpha, view(a), view(&conjugate(b)).transposed(), T::one(), product, (1, n));
        }
    }
}

/// `c = product + beta * c` in a triangle.
fn combine<T: Scalar>(c: &mut [T], n: usize, beta: T, product: &[T], fill: Fill, kind: Kind) {
    for column in 0..n {
        for row in fill.rows(column, n) {
            let (old, new) = (&mut c[column * n + row], product[column * n + row]);
            let mut value = if beta.is_zero() { new } else { new + beta * *old };
            if kind == Kind::Hermitian && row == column {
                value = T::real(value.re());
            }
            *old = value;
        }
    }
}
