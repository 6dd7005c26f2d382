//! Faults that are none of the driver's, while it watches the host's accesses: they go to whoever had them before.
//!
//! One test, in a program of its own: it forks, which a program with other tests in other threads had better not.

#[macro_use]
mod program;
use program::*;

/// Pinned memory into which a copy may still be writing.
fn in_use(program: &Program) -> *mut u8 {
    let (host, stream, device) = (program.pinned(4096), program.stream(1), program.alloc(4096));
    program.fill(device, 7, 4096, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 4096, stream));
    host
}

/// Runs `f` in a child process and answers how it ended.
fn in_child(f: impl FnOnce()) -> i32 {
    // SAFETY: the child is a copy of a process with one thread that matters, and leaves at once.
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
    // SAFETY: leaving is always allowed.
    unsafe { libc::_exit(42) }
}

/// An address at which there is no memory.
fn stray() {
    read(std::ptr::without_provenance(8));
}

#[test]
fn other_faults_are_handed_on() {
    // With a handler from before, in the way that programs have them.
    let status = in_child(|| {
        // SAFETY: a whole action with a handler of the right kind.
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
    // Without one, the process dies as it would have.
    let status = in_child(|| {
        // SAFETY: the default action.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        let program = Program::new();
        in_use(&program);
        stray();
    });
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
}
