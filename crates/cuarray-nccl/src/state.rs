//! Communicators, and the operations that wait for other ranks. One lock guards all of it.

use crate::driver::{Lane, Rank};
use crate::plan::{self, Buffers, Kind};
use crate::result::{Error, Outcome};
use crate::types::DataType;
use cuarray_abi::CUstream;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The time after which a waiting rank prints which ranks have not called.
const PATIENCE: Duration = Duration::from_secs(20);

/// `ncclComm_t`: a number, never the address of anything.
pub(crate) type Handle = usize;

/// The unique id of a communicator, as bytes.
pub(crate) type Id = Vec<u8>;

/// The outcome of a job, once it is known.
pub(crate) type Ticket = Arc<OnceLock<Outcome>>;

/// A call that needs other ranks.
pub(crate) enum Job {
    Join { handle: Handle, id: Id, ranks: usize, rank: usize, place: Rank },
    Collective { handle: Handle, name: &'static str, work: Collective, stream: CUstream },
    Send { handle: Handle, peer: usize, transfer: Transfer, stream: CUstream },
    Receive { handle: Handle, peer: usize, transfer: Transfer, stream: CUstream },
    Split { handle: Handle, color: c_int, key: c_int, new: Handle },
}

#[derive(Clone, Copy)]
pub(crate) struct Collective {
    pub(crate) kind: Kind,
    pub(crate) buffers: Buffers,
    pub(crate) count: usize,
    pub(crate) datatype: DataType,
}

#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) address: u64,
    pub(crate) count: usize,
    pub(crate) datatype: DataType,
}

/// A part of an operation that waits for the other ranks.
struct Pending<T> {
    work: T,
    stream: CUstream,
    thread: ThreadId,
    ticket: Ticket,
}

enum Shared {
    Collective(&'static str, Collective),
    Split { color: c_int, key: c_int, new: Handle },
}

struct Clique {
    ranks: Vec<Arc<Rank>>,
    /// The reason why no further operation can complete.
    broken: Option<String>,
    collectives: Vec<VecDeque<Pending<Shared>>>,
    /// By sender and receiver.
    sends: HashMap<(usize, usize), VecDeque<Pending<Transfer>>>,
    receives: HashMap<(usize, usize), VecDeque<Pending<Transfer>>>,
}

struct Comm {
    /// None until all ranks have joined.
    clique: Option<u64>,
    rank: usize,
    ranks: usize,
    device: c_int,
}

struct Joining {
    ranks: usize,
    members: HashMap<usize, (Arc<Rank>, Handle, Ticket)>,
}

#[derive(Default)]
struct State {
    comms: HashMap<Handle, Comm>,
    cliques: HashMap<u64, Clique>,
    joining: HashMap<Id, Joining>,
    handles: usize,
    numbers: u64,
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The properties of a communicator: rank, number of ranks, device.
pub(crate) fn describe(handle: Handle) -> Outcome<(usize, usize, c_int)> {
    let state = state();
    let comm = state.comm(handle)?;
    Ok((comm.rank, comm.ranks, comm.device))
}

/// The error that keeps a communicator from further operations.
pub(crate) fn asynchronous_error(handle: Handle) -> Outcome<Option<Error>> {
    let state = state();
    let clique = state.comm(handle)?.clique.and_then(|number| state.cliques.get(&number));
    Ok(clique.and_then(|clique| clique.broken.clone()).map(Error::remote))
}

/// Makes the handle of a communicator whose other ranks have not joined.
pub(crate) fn reserve(rank: usize, ranks: usize, device: c_int) -> Handle {
    let mut state = state();
    let handle = state.new_handle();
    state.comms.insert(handle, Comm { clique: None, rank, ranks, device });
    handle
}

/// Makes a handle for the communicator that a split gives.
pub(crate) fn reserve_number() -> Handle {
    state().new_handle()
}

/// Submits jobs of this thread, and waits until all ranks of each have called.
///
/// # Errors
/// The first failure.
pub(crate) fn submit(jobs: Vec<Job>) -> Outcome {
    let mut state = state();
    let submitted: Vec<(String, Ticket)> = jobs.into_iter().map(|job| state.add(job)).collect();
    CHANGED.notify_all();
    let start = Instant::now();
    let mut is_told = false;
    while submitted.iter().any(|(_, ticket)| ticket.get().is_none()) {
        let left = PATIENCE.saturating_sub(start.elapsed());
        if is_told {
            state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
        } else if left.is_zero() {
            is_told = true;
            for (name, _) in submitted.iter().filter(|(_, ticket)| ticket.get().is_none()) {
                tell(name);
            }
        } else {
            (state, _) = CHANGED.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
    drop(state);
    submitted.iter().try_for_each(|(_, ticket)| ticket.get().cloned().unwrap_or(Ok(())))
}

/// Prints which call waits. Standard error may be closed, so a failure is ignored.
fn tell(name: &str) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "cuarray-sim: {name} waits for other ranks since {} s; calls of one thread for several ranks need ncclGroupStart and ncclGroupEnd",
        PATIENCE.as_secs()
    );
}

/// Releases the objects of a job that is not submitted, because its group has failed.
pub(crate) fn give_up(job: Job) {
    if let Job::Join { handle, place, .. } = job {
        place.destroy();
        state().comms.remove(&handle);
    }
}

/// Removes a rank. Operations that other ranks wait for with it fail.
pub(crate) fn destroy(handle: Handle, is_abort: bool) -> Outcome {
    let mut state = state();
    let comm = state.comms.remove(&handle).ok_or_else(|| unknown(handle))?;
    let Some(number) = comm.clique else {
        let mut released = Vec::new();
        state.joining.retain(|_, joining| {
            let found = joining.members.get(&comm.rank).is_some_and(|member| member.1 == handle);
            if found && let Some((rank, _, ticket)) = joining.members.remove(&comm.rank) {
                let _ = ticket.set(Err(Error::usage("the communicator was destroyed")));
                released.push(rank);
            }
            !joining.members.is_empty()
        });
        released.iter().for_each(|rank| rank.destroy());
        CHANGED.notify_all();
        return Ok(());
    };
    let is_last = !state.comms.values().any(|other| other.clique == Some(number));
    if let Some(clique) = state.cliques.get_mut(&number) {
        let verb = if is_abort { "aborted" } else { "destroyed" };
        clique.break_with(format!("rank {} was {verb}", comm.rank));
        clique.ranks[comm.rank].destroy();
        if is_last {
            state.cliques.remove(&number);
        }
    }
    CHANGED.notify_all();
    Ok(())
}

fn unknown(handle: Handle) -> Error {
    Error::argument(format!("{handle:#x} is no communicator of this process"))
}

impl State {
    fn comm(&self, handle: Handle) -> Outcome<&Comm> {
        self.comms.get(&handle).ok_or_else(|| unknown(handle))
    }

    fn new_handle(&mut self) -> Handle {
        self.handles += 1;
        // Distinct from small numbers and aligned, as an address is.
        0x6e63_0000_0000 + self.handles * 64
    }

    /// Adds a job, and completes the operations that waited for it. Returns the name of the call, for a message.
    fn add(&mut self, job: Job) -> (String, Ticket) {
        let ticket = Ticket::default();
        let (name, added) = match job {
            Job::Join { handle, id, ranks, rank, place } => {
                let name = format!("the initialization of rank {rank} of {ranks}");
                (name, self.join(handle, id, ranks, rank, Arc::new(place), &ticket))
            }
            Job::Collective { handle, name, work, stream } => {
                (name.to_owned(), self.share(handle, Shared::Collective(name, work), stream, &ticket))
            }
            Job::Split { handle, color, key, new } => {
                let work = Shared::Split { color, key, new };
                ("ncclCommSplit".to_owned(), self.share(handle, work, CUstream::NULL, &ticket))
            }
            Job::Send { handle, peer, transfer, stream } => {
                (format!("ncclSend to rank {peer}"), self.transfer(handle, peer, transfer, stream, &ticket, true))
            }
            Job::Receive { handle, peer, transfer, stream } => {
                (format!("ncclRecv from rank {peer}"), self.transfer(handle, peer, transfer, stream, &ticket, false))
            }
        };
        if let Err(error) = added {
            let _ = ticket.set(Err(error));
        }
        (name, ticket)
    }

    fn join(
        &mut self,
        handle: Handle,
        id: Id,
        ranks: usize,
        rank: usize,
        place: Arc<Rank>,
        ticket: &Ticket,
    ) -> Outcome {
        let joining = self.joining.entry(id.clone()).or_insert_with(|| Joining { ranks, members: HashMap::new() });
        let refused = if joining.ranks != ranks {
            Some(format!("another rank of this communicator has said {} ranks, not {ranks}", joining.ranks))
        } else if joining.members.contains_key(&rank) {
            Some(format!("rank {rank} has joined already"))
        } else {
            None
        };
        if let Some(message) = refused {
            place.destroy();
            self.comms.remove(&handle);
            return Err(Error::argument(message));
        }
        joining.members.insert(rank, (place, handle, Arc::clone(ticket)));
        if joining.members.len() < ranks {
            return Ok(());
        }
        let mut members: Vec<_> =
            self.joining.remove(&id).map(|each| each.members).unwrap_or_default().into_iter().collect();
        members.sort_by_key(|(rank, _)| *rank);
        let mut devices: Vec<c_int> = members.iter().map(|(_, (place, ..))| place.device).collect();
        devices.sort_unstable();
        let double = devices.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if double.is_none() {
            let places = members.iter().map(|(_, (place, ..))| Arc::clone(place)).collect();
            let handles: Vec<Handle> = members.iter().map(|(_, (_, handle, _))| *handle).collect();
            self.found(places, &handles);
        }
        for (_, (place, handle, ticket)) in members {
            let outcome = match double {
                None => Ok(()),
                Some(device) => {
                    place.destroy();
                    self.comms.remove(&handle);
                    Err(Error::usage(format!("two ranks use device {device}; each rank needs its own device")))
                }
            };
            let _ = ticket.set(outcome);
        }
        Ok(())
    }

    /// Makes a clique of ranks with these handles.
    fn found(&mut self, ranks: Vec<Arc<Rank>>, handles: &[Handle]) {
        self.numbers += 1;
        let number = self.numbers;
        for (rank, handle) in handles.iter().enumerate() {
            let comm = Comm { clique: Some(number), rank, ranks: ranks.len(), device: ranks[rank].device };
            self.comms.insert(*handle, comm);
        }
        let collectives = ranks.iter().map(|_| VecDeque::new()).collect();
        let clique = Clique { ranks, broken: None, collectives, sends: HashMap::new(), receives: HashMap::new() };
        self.cliques.insert(number, clique);
    }

    /// The clique of a communicator, and the rank in it.
    fn clique(&mut self, handle: Handle) -> Outcome<(&mut Clique, usize)> {
        let (number, rank) = {
            let comm = self.comm(handle)?;
            (comm.clique, comm.rank)
        };
        let clique = number.and_then(|number| self.cliques.get_mut(&number));
        let clique = clique.ok_or_else(|| Error::usage("the communicator's other ranks have not joined"))?;
        match &clique.broken {
            Some(reason) => Err(Error::remote(reason.clone())),
            None => Ok((clique, rank)),
        }
    }

    /// Adds a rank's part of an operation of all ranks.
    fn share(&mut self, handle: Handle, work: Shared, stream: CUstream, ticket: &Ticket) -> Outcome {
        let (clique, rank) = self.clique(handle)?;
        let pending = Pending { work, stream, thread: thread::current().id(), ticket: Arc::clone(ticket) };
        clique.collectives[rank].push_back(pending);
        if clique.collectives.iter().any(VecDeque::is_empty) {
            return Ok(());
        }
        let parts: Vec<Pending<Shared>> = clique.collectives.iter_mut().filter_map(VecDeque::pop_front).collect();
        let outcome = self.complete(handle, &parts);
        for part in parts {
            let _ = part.ticket.set(outcome.clone());
        }
        Ok(())
    }

    fn complete(&mut self, handle: Handle, parts: &[Pending<Shared>]) -> Outcome {
        let mut works = Vec::new();
        let mut splits = Vec::new();
        for part in parts {
            match part.work {
                Shared::Collective(name, work) => works.push((name, work)),
                Shared::Split { color, key, new } => splits.push((color, key, new)),
            }
        }
        if works.is_empty() {
            return self.split(handle, &splits);
        }
        let (name, first) = works[0];
        for (rank, (_, work)) in works.iter().enumerate() {
            if splits.is_empty() && (work.kind, work.count, work.datatype) == (first.kind, first.count, first.datatype)
            {
                continue;
            }
            return Err(Error::usage(format!(
                "the ranks disagree: rank 0 calls {:?} of {} {:?}, and rank {rank} {:?} of {} {:?}",
                first.kind, first.count, first.datatype, work.kind, work.count, work.datatype
            )));
        }
        let (clique, _) = self.clique(handle)?;
        let lanes: Vec<Lane<'_>> = clique.ranks.iter().zip(parts).map(|(rank, part)| lane(rank, part)).collect();
        let buffers: Vec<Buffers> = works.iter().map(|(_, work)| work.buffers).collect();
        plan::collective(first.kind, &lanes, &buffers, first.count, first.datatype)
            .map_err(|error| Error { message: format!("{name}: {}", error.message), ..error })
    }

    /// Makes the communicators of a split: one for each color, its ranks in the order of the keys.
    fn split(&mut self, handle: Handle, parts: &[(c_int, c_int, Handle)]) -> Outcome {
        let (clique, _) = self.clique(handle)?;
        let parents = clique.ranks.clone();
        let mut colors: Vec<c_int> = parts.iter().map(|part| part.0).filter(|color| *color >= 0).collect();
        colors.sort_unstable();
        colors.dedup();
        for color in colors {
            let mut members: Vec<usize> = (0..parts.len()).filter(|rank| parts[*rank].0 == color).collect();
            members.sort_by_key(|rank| parts[*rank].1);
            let places =
                members.iter().map(|rank| parents[*rank].again().map(Arc::new)).collect::<Outcome<Vec<_>>>()?;
            let handles: Vec<Handle> = members.iter().map(|rank| parts[*rank].2).collect();
            self.found(places, &handles);
        }
        Ok(())
    }

    /// Adds a send or a receive.
    fn transfer(
        &mut self,
        handle: Handle,
        peer: usize,
        transfer: Transfer,
        stream: CUstream,
        ticket: &Ticket,
        is_send: bool,
    ) -> Outcome {
        let (clique, rank) = self.clique(handle)?;
        let pair = if is_send { (rank, peer) } else { (peer, rank) };
        let queues = if is_send { &mut clique.sends } else { &mut clique.receives };
        let pending = Pending { work: transfer, stream, thread: thread::current().id(), ticket: Arc::clone(ticket) };
        queues.entry(pair).or_default().push_back(pending);
        let is_matched = |queues: &HashMap<_, VecDeque<_>>| queues.get(&pair).is_some_and(|queue| !queue.is_empty());
        if !is_matched(&clique.sends) || !is_matched(&clique.receives) {
            return Ok(());
        }
        let send = clique.sends.get_mut(&pair).and_then(VecDeque::pop_front);
        let receive = clique.receives.get_mut(&pair).and_then(VecDeque::pop_front);
        let (Some(send), Some(receive)) = (send, receive) else { return Ok(()) };
        let (from, to) = (send.work, receive.work);
        let outcome = if (from.count, from.datatype) != (to.count, to.datatype) {
            Err(Error::usage(format!(
                "rank {} sends {} {:?} to rank {}, which receives {} {:?}",
                pair.0, from.count, from.datatype, pair.1, to.count, to.datatype
            )))
        } else {
            let bytes = from.count.checked_mul(from.datatype.size());
            bytes.ok_or_else(|| Error::argument(format!("{} elements are too many", from.count))).and_then(|bytes| {
                let (sender, receiver) = (lane(&clique.ranks[pair.0], &send), lane(&clique.ranks[pair.1], &receive));
                plan::transfer(sender, from.address, receiver, to.address, bytes)
            })
        };
        let _ = send.ticket.set(outcome.clone());
        let _ = receive.ticket.set(outcome);
        Ok(())
    }
}

fn lane<'a, T>(rank: &'a Rank, part: &Pending<T>) -> Lane<'a> {
    Lane { rank, stream: part.stream, is_of_this_thread: part.thread == thread::current().id() }
}

impl Clique {
    /// Fails everything that waits, and all later operations.
    fn break_with(&mut self, reason: String) {
        let error = Error::remote(reason.clone());
        let shared = self.collectives.iter_mut().flat_map(tickets);
        let transfers = self.sends.values_mut().chain(self.receives.values_mut()).flat_map(tickets);
        for ticket in shared.chain(transfers) {
            let _ = ticket.set(Err(error.clone()));
        }
        self.broken.get_or_insert(reason);
    }
}

/// Removes everything that waits in a queue, and returns the tickets.
fn tickets<T>(queue: &mut VecDeque<Pending<T>>) -> impl Iterator<Item = Ticket> {
    queue.drain(..).map(|pending| pending.ticket)
}
