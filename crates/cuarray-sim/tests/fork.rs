//! A child of `fork` finds no driver, and the parent's goes on.

#[macro_use]
mod program;
use program::*;

/// Runs `f` in a child process and answers its exit status.
fn in_child(f: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child only calls into the driver, which answers without its lock, and leaves at once.
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
fn an_initialized_driver_does_not_survive_a_fork() {
    let program = Program::new();
    let code = in_child(|| (call!(program, cuCtxSynchronize()).0 * 16 + call!(program, cuInit(0)).0) as i32);
    assert_eq!(code, 3 * 16 + 3, "both answer CUDA_ERROR_NOT_INITIALIZED");
    ok!(program, cuCtxSynchronize());
}

#[test]
fn a_driver_that_was_not_initialized_may_be_in_the_child() {
    struct Uninitialized {
        api: Api,
    }
    let sim = Sim::new(Config::default());
    let _entered = sim.enter();
    let program = Uninitialized { api: sim.api() };
    assert_eq!(in_child(|| call!(program, cuInit(0)).0 as i32), 0);
}
