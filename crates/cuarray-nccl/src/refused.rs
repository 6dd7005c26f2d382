//! The documented functions that the stand-in refuses.

use crate::result::{Error, answer, ncclResult_t};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints the first call of each function, as the library that calls it may hide the message.
fn refuse(function: &str, told: &AtomicBool) -> ncclResult_t {
    use std::io::Write;
    if !told.swap(true, Ordering::Relaxed) {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "cuarray-sim: {function} is not supported: libnccl.so.2 is a stand-in with collectives, sends and receives. \
             CUARRAY_SIM_NCCL=0 leaves the real library in place."
        );
    }
    answer(function, Err(Error::usage("not supported by this stand-in")))
}

/// Exports functions that answer `ncclInvalidUsage`. They read no argument, so one signature fits all of them.
macro_rules! refused {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`, which is not supported.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> ncclResult_t {
            static TOLD: AtomicBool = AtomicBool::new(false);
            refuse(stringify!($name), &TOLD)
        }
    )*};
}

refused! {
    ncclCommGetUniqueId
    ncclCommGrow
    ncclCommMemStats
    ncclCommResume
    ncclCommRevoke
    ncclCommShrink
    ncclCommSuspend
    ncclCommWindowDeregister
    ncclCommWindowRegister
    ncclDevCommCreate
    ncclDevCommDestroy
    ncclGetLsaDevicePointer
    ncclGetLsaMultimemDevicePointer
    ncclGetPeerDevicePointer
    ncclGroupSimulateEnd
    ncclPutSignal
    ncclRedOpCreatePreMulSum
    ncclRedOpDestroy
    ncclSignal
    ncclWaitSignal
    ncclWinGetUserPtr
}
