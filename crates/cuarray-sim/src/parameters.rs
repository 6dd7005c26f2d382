//! The parameters of the C functions: pointers that a program passed, as values that safe code can use.
//!
//! The wrapper of the C functions makes these values in one place, by the one promise of every caller: a pointer is as the
//! driver's manual defines it. So the functions themselves are safe. Programs may pass unaligned pointers, and null.

use cuarray_abi::CUresult;
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A parameter that is made from the one of the C function.
pub(crate) trait Received<Raw> {
    /// Takes a parameter during a call.
    ///
    /// # Safety
    /// During the call, a pointer is null, or as the driver's manual defines it for this parameter.
    unsafe fn received(raw: Raw) -> Self;
}

/// Numbers, handles, and addresses that the driver does not follow.
impl<T> Received<T> for T {
    unsafe fn received(raw: T) -> T {
        raw
    }
}

/// A place that the driver reads, or null. Where the manual states a length, it is the first element of a list.
pub(crate) struct In<'call, T> {
    pointer: *const T,
    call: PhantomData<&'call T>,
}

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<T> Received<*const T> for In<'_, T> {
    unsafe fn received(pointer: *const T) -> Self {
        In { pointer, call: PhantomData }
    }
}

/// The manual declares some inputs without `const`.
impl<T> Received<*mut T> for In<'_, T> {
    unsafe fn received(pointer: *mut T) -> Self {
        In { pointer, call: PhantomData }
    }
}

impl<'call, T> In<'call, T> {
    pub(crate) const NULL: Self = In { pointer: std::ptr::null(), call: PhantomData };

    /// A value of the driver.
    pub(crate) fn of(value: &'call T) -> Self {
        In { pointer: value, call: PhantomData }
    }

    pub(crate) fn is_null(self) -> bool {
        self.pointer.is_null()
    }

    pub(crate) fn pointer(self) -> *const T {
        self.pointer
    }

    /// Checks that the program passed a place.
    pub(crate) fn present(self) -> Result<(), CUresult> {
        if self.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
    }

    /// The value, if the program passed one.
    pub(crate) fn given(self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: the pointer is not null, so by the promise of `received` it is that of a value; it may be unaligned.
        (!self.is_null()).then(|| unsafe { self.pointer.read_unaligned() })
    }

    pub(crate) fn read(self) -> Result<T, CUresult>
    where
        T: Copy,
    {
        self.given().ok_or(INVALID_VALUE)
    }

    /// The place as one of another type.
    ///
    /// # Safety
    /// A value of that type may be read: the manual gives the place this type.
    pub(crate) unsafe fn cast<U>(self) -> In<'call, U> {
        In { pointer: self.pointer.cast(), call: PhantomData }
    }

    /// The elements of a list. Without elements the list may be null.
    ///
    /// # Safety
    /// The list has `count` elements: the manual gives it this length.
    pub(crate) unsafe fn list(self, count: usize) -> Result<Vec<T>, CUresult>
    where
        T: Copy,
    {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.present()?;
        // A program may state any count; one without memory for the list gets an error.
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        // SAFETY: this function's contract; the elements may be unaligned.
        list.extend((0..count).map(|index| unsafe { self.pointer.add(index).read_unaligned() }));
        Ok(list)
    }
}

/// A place that the driver writes, or null. Where the manual states a length, it is the first element of a list.
pub(crate) struct Out<'call, T> {
    pointer: *mut T,
    call: PhantomData<&'call mut T>,
}

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<T> Received<*mut T> for Out<'_, T> {
    unsafe fn received(pointer: *mut T) -> Self {
        Out { pointer, call: PhantomData }
    }
}

impl<'call, T> Out<'call, T> {
    pub(crate) const NULL: Self = Out { pointer: std::ptr::null_mut(), call: PhantomData };

    /// A variable of the driver.
    pub(crate) fn of(variable: &'call mut T) -> Self {
        Out { pointer: variable, call: PhantomData }
    }

    pub(crate) fn is_null(self) -> bool {
        self.pointer.is_null()
    }

    /// Checks that the program passed a place, before the call has an effect.
    pub(crate) fn present(self) -> Result<(), CUresult> {
        if self.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
    }

    pub(crate) fn put(self, value: T) -> Result<(), CUresult> {
        self.present()?;
        // SAFETY: the pointer is not null, so by the promise of `received` a value may be written; it may be unaligned.
        unsafe { self.pointer.write_unaligned(value) };
        Ok(())
    }

    /// Writes a value that the program may leave out.
    pub(crate) fn put_if_present(self, value: T) {
        // A place that is missing is no error here.
        let _ = self.put(value);
    }

    /// The place as one of another type.
    ///
    /// # Safety
    /// A value of that type may be written: the manual gives the place this type.
    pub(crate) unsafe fn cast<U>(self) -> Out<'call, U> {
        Out { pointer: self.pointer.cast(), call: PhantomData }
    }

    /// Writes the elements of a list.
    ///
    /// # Safety
    /// The list has room for all values: the manual gives it this length.
    pub(crate) unsafe fn put_all(self, values: impl IntoIterator<Item = T>) -> Result<(), CUresult> {
        self.present()?;
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: by this function's contract; the elements may be unaligned.
            unsafe { self.pointer.add(index).write_unaligned(value) };
        }
        Ok(())
    }
}

impl Out<'_, c_char> {
    /// Writes a text and a nul into a buffer, without the part that does not fit.
    ///
    /// # Safety
    /// The buffer has `room` bytes: the manual gives it this length.
    pub(crate) unsafe fn put_text(self, text: &str, room: usize) -> Result<(), CUresult> {
        self.present()?;
        let length = text.len().min(room.checked_sub(1).ok_or(INVALID_VALUE)?);
        // SAFETY: by this function's contract; the text and its nul do not exceed the room.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.pointer.cast(), length);
            self.pointer.add(length).write(0);
        }
        Ok(())
    }
}

/// A place that the driver reads and then writes, or null.
pub(crate) struct InOut<'call, T> {
    pub input: In<'call, T>,
    pub output: Out<'call, T>,
}

impl<T> Clone for InOut<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for InOut<'_, T> {}

impl<'call, T> InOut<'call, T> {
    /// A variable of the driver.
    pub(crate) fn of(variable: &'call mut T) -> Self {
        let output = Out::of(variable);
        InOut { input: In { pointer: output.pointer, call: PhantomData }, output }
    }

    pub(crate) fn present(self) -> Result<(), CUresult> {
        self.input.present()
    }

    pub(crate) fn read(self) -> Result<T, CUresult>
    where
        T: Copy,
    {
        self.input.read()
    }

    pub(crate) fn put(self, value: T) -> Result<(), CUresult> {
        self.output.put(value)
    }
}

impl<T> Received<*mut T> for InOut<'_, T> {
    unsafe fn received(pointer: *mut T) -> Self {
        // SAFETY: this function's contract.
        unsafe { InOut { input: In::received(pointer), output: Out::received(pointer) } }
    }
}

/// A nul-terminated string, or null.
#[derive(Clone, Copy)]
pub(crate) struct Text<'call> {
    pointer: *const c_char,
    call: PhantomData<&'call CStr>,
}

impl Received<*const c_char> for Text<'_> {
    unsafe fn received(pointer: *const c_char) -> Self {
        Text { pointer, call: PhantomData }
    }
}

impl<'call> Text<'call> {
    pub(crate) fn present(self) -> Result<(), CUresult> {
        self.read().map(|_| ())
    }

    pub(crate) fn read(self) -> Result<&'call CStr, CUresult> {
        // SAFETY: the pointer is not null, so by the promise of `received` it is that of a string that lives during the call.
        if self.pointer.is_null() { Err(INVALID_VALUE) } else { Ok(unsafe { CStr::from_ptr(self.pointer) }) }
    }

    /// The string as a name.
    pub(crate) fn name(self) -> Result<String, CUresult> {
        self.read().map(|text| text.to_string_lossy().into_owned())
    }
}

/// Checks that an address is not null.
pub(crate) fn present<T>(pointer: *const T) -> Result<(), CUresult> {
    if pointer.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
}

/// The result of a call that this driver does not support.
pub(crate) fn unsupported() -> Result<(), CUresult> {
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}
