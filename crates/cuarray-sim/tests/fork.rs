//! In a child of `fork` the driver is unusable; in the parent it still works.

#[macro_use]
mod program;
use program::*;
use std::sync::{Mutex, PoisonError};

/// Held by each test, as a process has one driver: drivers share locks, and a child never gets one that another test holds at the fork.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `f` in a child process and returns its exit status.
fn in_child(f: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child only makes driver calls, which return without taking the lock, and exits at once.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(30); // a child that waits forever fails the test instead of stopping it
            libc::_exit(f());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status));
        libc::WEXITSTATUS(status)
    }
}

#[test]
fn initialized_driver_is_unusable_in_a_forked_child() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program = Program::new();
    let code = in_child(|| (call!(program, cuCtxSynchronize()).0 * 16 + call!(program, cuInit(0)).0) as i32);
    assert_eq!(code, 3 * 16 + 3, "both calls return CUDA_ERROR_NOT_INITIALIZED");
    ok!(program, cuCtxSynchronize());
}

#[test]
fn uninitialized_driver_can_be_initialized_in_a_forked_child() {
    struct Uninitialized {
        api: Api,
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let sim = Sim::new(Config::default());
    let _entered = sim.enter();
    let program = Uninitialized { api: sim.api() };
    assert_eq!(in_child(|| call!(program, cuInit(0)).0 as i32), 0);
}
