//! Faults at addresses that the simulator does not watch: the previously installed signal handler receives them.
//!
//! This file has a single test, because the test forks, and a fork is unsafe while other tests run in other threads.

#[macro_use]
mod program;
use program::*;

/// Allocates pinned memory that a pending copy will write.
fn in_use(program: &Program) -> *mut u8 {
    let (host, stream, device) = (program.pinned(4096), program.stream(1), program.alloc(4096));
    program.fill(device, 7, 4096, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 4096, stream));
    host
}

/// Runs `f` in a child process and returns its wait status.
fn in_child(f: impl FnOnce()) -> i32 {
    // SAFETY: no other thread of this process matters to the child, and the child exits at once.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(30);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            libc::_exit(i32::from(done.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    }
}

extern "C" fn resolve(_: i32, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: exiting is always allowed.
    unsafe { libc::_exit(42) }
}

/// Reads an unmapped address.
fn stray() {
    read(std::ptr::without_provenance(8));
}

#[test]
fn unrelated_faults_reach_the_previous_handler() {
    // The program installed a handler before the simulator.
    let status = in_child(|| {
        // SAFETY: a complete action with a handler of the right type.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = resolve as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
        }
        let program = Program::new();
        let host = in_use(&program);
        read(host);
        assert_eq!(program.sim.report().findings.len(), 1);
        stray();
    });
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 42, "{status:#x}");
    // Without an earlier handler, the signal ends the process.
    let status = in_child(|| {
        // SAFETY: the default action.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        let program = Program::new();
        in_use(&program);
        stray();
    });
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
}
