//! A simulated driver for several programs, and its threads.

use super::{
    driver_fixture::{Alive, Fixture},
    program::In,
};
use cuarray::{Context, Driver, kernel::Function};
use cuarray_abi::{
    Api, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_LOCATION_TYPE_DEVICE, CUdevice, CUmemAccessDesc, CUmemLocation,
    CUmemoryPool,
};
use cuarray_sim::{Config, Schedule, Sim};
use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

/// Kernels over arrays of two dimensions: a thread for each element, with byte strides. `set` writes the elements, `look` reads them,
/// and `copy` reads the second array and writes the first.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry set(.param .u64 data, .param .u32 columns, .param .u64 down, .param .u64 right, .param .u32 value)
{
    .reg .b32 %r<6>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [columns]; ld.param.u64 %rd2, [down]; ld.param.u64 %rd3, [right];
    ld.param.u32 %r5, [value];
    mov.u32 %r2, %tid.x; div.u32 %r3, %r2, %r1; rem.u32 %r4, %r2, %r1;
    cvt.u64.u32 %rd4, %r3; mul.lo.u64 %rd4, %rd4, %rd2; add.u64 %rd1, %rd1, %rd4;
    cvt.u64.u32 %rd4, %r4; mul.lo.u64 %rd4, %rd4, %rd3; add.u64 %rd1, %rd1, %rd4;
    st.global.u32 [%rd1], %r5;
    ret;
}
.visible .entry look(.param .u64 data, .param .u32 columns, .param .u64 down, .param .u64 right)
{
    .reg .b32 %r<6>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [columns]; ld.param.u64 %rd2, [down]; ld.param.u64 %rd3, [right];
    mov.u32 %r2, %tid.x; div.u32 %r3, %r2, %r1; rem.u32 %r4, %r2, %r1;
    cvt.u64.u32 %rd4, %r3; mul.lo.u64 %rd4, %rd4, %rd2; add.u64 %rd1, %rd1, %rd4;
    cvt.u64.u32 %rd4, %r4; mul.lo.u64 %rd4, %rd4, %rd3; add.u64 %rd1, %rd1, %rd4;
    ld.global.u32 %r5, [%rd1];
    ret;
}
.visible .entry copy(.param .u64 to, .param .u64 from)
{
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

pub struct Kernels {
    pub set: Function,
    pub look: Function,
    pub copy: Function,
}

/// The driver's objects that every thread uses.
pub struct Shared {
    kernels: Vec<Kernels>,
    pub contexts: Vec<Context>,
    pub driver: Driver,
    pub sim: Sim,
}

impl Shared {
    pub fn kernels(&self, context: &Context) -> Option<&Kernels> {
        self.contexts.iter().position(|known| known == context).map(|index| &self.kernels[index])
    }
}

type Job = Box<dyn FnOnce() + Send>;
type Outcome = Result<(), Box<dyn Any + Send>>;

/// A second thread.
struct Helper {
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Outcome>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Helper {
    fn new(sim: Sim) -> Helper {
        let (jobs, received) = sync_channel::<Job>(0);
        let (finished, done) = sync_channel(0);
        let thread = thread::spawn(move || {
            let _entered = sim.enter();
            for job in received {
                let outcome = panic::catch_unwind(AssertUnwindSafe(job));
                finished.send(outcome).unwrap();
            }
        });
        Helper { jobs: Some(jobs), done, thread: Some(thread) }
    }

    fn run(&self, job: Box<dyn FnOnce() + Send + '_>) -> Outcome {
        // SAFETY: this function returns when the job has run, so the job does not outlive its borrows.
        let job: Job = unsafe { std::mem::transmute(job) };
        self.jobs.as_ref().unwrap().send(job).unwrap();
        self.done.recv().unwrap()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.thread.take().unwrap().join();
    }
}

/// A simulated driver. The thread that made it has entered it.
pub struct Rig {
    pub shared: Shared,
    helper: Option<Helper>,
    fixture: Fixture,
    /// Whether a leaked guard keeps a context.
    pub keeps_contexts: bool,
}

impl Rig {
    pub fn new(schedule: Schedule) -> Rig {
        let config =
            Config { devices: 2, schedule, free_synchronizes: false, quiet: true, cores: 1, ..Config::default() };
        let fixture = Fixture::with(config);
        let driver = fixture.driver.clone();
        let contexts: Vec<Context> =
            driver.devices().unwrap().iter().map(|device| device.primary_context().unwrap()).collect();
        let kernels = contexts.iter().map(|context| {
            // A separate module would keep the streams of its launches.
            let kernel = |name| context.kernel(PTX, name).unwrap();
            Kernels { set: kernel("set"), look: kernel("look"), copy: kernel("copy") }
        });
        let shared = Shared { kernels: kernels.collect(), contexts, driver, sim: fixture.sim.clone() };
        for context in &shared.contexts {
            let _current = context.push().unwrap();
            for peer in shared.contexts.iter().filter(|peer| *peer != context) {
                let peer = {
                    let _current = peer.push().unwrap();
                    fixture.current()
                };
                // SAFETY: the peer's context is alive.
                let enabled =
                    unsafe { shared.driver.api().cuCtxEnablePeerAccess.unwrap()(cuarray_abi::CUcontext(peer), 0) };
                assert!(enabled.is_success());
            }
        }
        share_pools(shared.driver.api(), shared.contexts.len());
        Rig { shared, helper: None, fixture, keeps_contexts: false }
    }

    /// Prepares a thread, so that [`Rig::run_in`] can be called.
    pub fn with_helper(&mut self) {
        self.helper.get_or_insert_with(|| Helper::new(self.shared.sim.clone()));
    }

    /// Runs a job in a thread, and waits for it.
    pub fn run_in(&self, thread: In, job: impl FnOnce() + Send) {
        let outcome = match thread {
            In::Main => {
                job();
                Ok(())
            }
            In::Helper => self.helper.as_ref().unwrap().run(Box::new(job)),
            In::Fresh => {
                let sim = &self.shared.sim;
                let entered = || {
                    let _entered = sim.enter();
                    job();
                };
                thread::scope(|scope| scope.spawn(entered).join())
            }
        };
        if let Err(payload) = outcome {
            panic::resume_unwind(payload);
        }
    }

    pub fn alive(&self) -> Alive {
        self.fixture.alive()
    }

    /// Ends the driver. Returns what is left.
    pub fn end(self) -> Alive {
        let Rig { shared, helper, fixture, keeps_contexts } = self;
        drop((helper, shared));
        // An injected failure can defer the release of a module.
        fixture.driver.reclaim(true);
        let sim = fixture.sim.clone();
        drop(fixture);
        let _entered = sim.enter();
        let alive = Alive::of(&sim);
        match keeps_contexts {
            true => Alive { primaries: 0, events: 0, ..alive },
            false => alive,
        }
    }
}

/// Gives every device access to the memory pool of each other device, which is the duty of the program that launches kernels there.
fn share_pools(api: &Api, devices: usize) {
    for owner in 0..devices {
        let mut pool = CUmemoryPool(0);
        // SAFETY: the address is that of a local variable.
        let found = unsafe { api.cuDeviceGetDefaultMemPool.unwrap()(&mut pool, owner as CUdevice) };
        assert!(found.is_success());
        for device in (0..devices).filter(|device| *device != owner) {
            let access = CUmemAccessDesc {
                location: CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: device as CUdevice },
                flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            };
            // SAFETY: the pool is alive, and the list has one entry.
            let shared = unsafe { api.cuMemPoolSetAccess.unwrap()(pool, &access, 1) };
            assert!(shared.is_success());
        }
    }
}
