//! The registry of guards, compared with a plain list of guards under random operations.

use super::{
    aliasing::Elements,
    registry::{Detached, Edges, Entries, Leaked, Order, Others},
};
use crate::{
    Interface, Layout, TypeStr,
    driver::{Api, CUresult, Driver, Stream},
    sync::{Access, Begun, Home, SyncState},
};
use proptest::{prelude::*, sample::Index};
use std::{ffi::c_uint, ops::Range, ptr};

/// A view over the memory, and the stream of its work.
struct Data {
    interface: Interface,
    stream: Stream,
    entries: Entries,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Live {
        has_edges: bool,
    },
    Released,
    /// A guard whose end is deferred, or a leaked guard of a dropped view.
    Detached,
}

/// A guard in the plain list.
#[derive(Clone, Copy)]
struct Known {
    view: usize,
    access: Access,
    state: State,
}

#[derive(Clone, Debug)]
enum Step {
    View { start: u64, length: usize, step: isize },
    Acquire { view: Index, writes: bool, has_edges: bool },
    Release { guard: Index, keeps: bool },
    Defer(Index),
    Drop(Index),
    EndDetached(Index),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        2 => (0u64..400, 1usize..20, prop_oneof![Just(4isize), Just(8), Just(-4), Just(0)])
            .prop_map(|(start, length, step)| Step::View { start: 0x1000 + start, length, step }),
        6 => (index(), any::<bool>(), any::<bool>())
            .prop_map(|(view, writes, has_edges)| Step::Acquire { view, writes, has_edges }),
        4 => (index(), any::<bool>()).prop_map(|(guard, keeps)| Step::Release { guard, keeps }),
        1 => index().prop_map(Step::Defer),
        2 => index().prop_map(Step::Drop),
        1 => index().prop_map(Step::EndDetached),
    ]
}

fn driver() -> Driver {
    extern "C" fn init(_flags: c_uint) -> CUresult {
        CUresult::CUDA_SUCCESS
    }
    let resolve =
        |symbol: &std::ffi::CStr| if symbol == c"cuInit" { init as *const () as *const _ } else { ptr::null() };
    // SAFETY: the table's only function behaves as the manual says.
    unsafe { Driver::from_api(Api::resolve_with(resolve)) }.unwrap()
}

/// The views, the registry's objects and the plain list.
struct World {
    driver: Driver,
    /// `None` for a dropped view, with its elements.
    views: Vec<(Option<Data>, Elements, Range<u64>)>,
    list: Vec<Known>,
    /// The registry's objects of the detached guards, with the places of these guards' views.
    detached: Vec<(usize, Vec<Access>, Held)>,
}

/// An object that keeps an entry in the registry.
#[allow(dead_code)] // only dropped
enum Held {
    Deferred(Option<Detached>),
    Leaked(Leaked),
}

impl World {
    fn view(&mut self, start: u64, length: usize, step: isize) {
        let layout = Layout::strided(&[length], &[step], 4).unwrap();
        let start = if step < 0 { start + 100 } else { start };
        let interface = Interface::new(start, TypeStr::of::<f32>(), layout).unwrap();
        let (elements, bytes) = (Elements::of(&interface), interface.byte_range());
        // SAFETY: no call uses the handle.
        let stream = unsafe { Stream::from_raw(&self.driver, 0x100 + self.views.len(), None) };
        self.views.push((Some(Data { interface, stream, entries: Entries::default() }), elements, bytes));
    }

    fn shares(&self, one: usize, other: usize) -> bool {
        let ((_, one, bytes), (_, other, other_bytes)) = (&self.views[one], &self.views[other]);
        bytes.start < other_bytes.end && other_bytes.start < bytes.end && one.share_memory_with(other)
    }

    /// The result of an acquisition by the plain list: the streams to wait for, or `None` for a conflict.
    fn expected(&self, view: usize, access: Access) -> Option<Vec<usize>> {
        let writes = |known: &&Known| access == Access::Write || known.access == Access::Write;
        let met: Vec<&Known> = self.list.iter().filter(writes).filter(|known| self.shares(view, known.view)).collect();
        if met.iter().any(|known| known.state != State::Released) {
            return None;
        }
        let others = met.iter().filter(|known| known.view != view);
        let mut handles: Vec<usize> = others.map(|known| 0x100 + known.view).collect();
        handles.sort_unstable();
        handles.dedup();
        Some(handles)
    }

    fn acquire(&mut self, view: usize, access: Access, has_edges: bool) {
        let expected = self.expected(view, access);
        let Some(data) = &self.views[view].0 else { return };
        let mut others = Others::new();
        let registered = data.entries.register(&data.stream, &data.interface, access, &mut others);
        let handles = registered.ok().map(|registered| {
            assert!(registered);
            let mut handles: Vec<_> = others.iter().map(|(state, ..)| state.home_stream().unwrap().handle()).collect();
            handles.sort_unstable();
            handles
        });
        assert_eq!(handles, expected);
        if expected.is_some() {
            if has_edges {
                let (stream, begun) = (data.stream.clone(), Begun::default());
                data.entries.set_begun(Edges { stream, begun, access });
            }
            self.list.push(Known { view, access, state: State::Live { has_edges } });
        }
    }

    /// The place in the list of a live guard.
    fn live(&self, guard: &Index) -> Option<usize> {
        let live = self.list.iter().enumerate().filter(|(_, known)| matches!(known.state, State::Live { .. }));
        let places: Vec<usize> = live.map(|(place, _)| place).collect();
        (!places.is_empty()).then(|| *guard.get(&places))
    }

    fn release(&mut self, guard: &Index, keeps: bool) {
        let Some(place) = self.live(guard) else { return };
        let Known { view, access, state } = self.list.swap_remove(place);
        let Some(data) = &self.views[view].0 else { return };
        let begun = (state == State::Live { has_edges: true }).then(|| (&data.stream, Begun::default()));
        let order = || Order::InState(SyncState::in_home(Home::lasting(data.stream.clone())), None);
        data.entries.release(access, begun, keeps.then_some(order));
        if keeps {
            self.list.push(Known { view, access, state: State::Released });
        }
    }

    fn defer(&mut self, guard: &Index) {
        let Some(place) = self.live(guard) else { return };
        let Known { view, access, state } = self.list[place];
        let Some(data) = &self.views[view].0 else { return };
        let begun = (state == State::Live { has_edges: true }).then(|| (&data.stream, Begun::default()));
        let detached = data.entries.detach(access, begun);
        self.list[place].state = State::Detached;
        self.detached.push((view, vec![access], Held::Deferred(detached)));
    }

    fn drop_view(&mut self, view: usize) {
        let Some(mut data) = self.views[view].0.take() else { return };
        let leaked = data.entries.forget();
        let is_of = |known: &Known| known.view == view && known.state != State::Detached;
        let has_edges =
            self.list.iter().any(|known| known.view == view && known.state == State::Live { has_edges: true });
        assert_eq!(leaked.is_some(), has_edges);
        // The entry of a leaked guard with edges stays for all leaked guards of its view.
        let mut kept = Vec::new();
        self.list.retain_mut(|known| {
            if !is_of(known) {
                return true;
            }
            let stays = has_edges && known.state != State::Released;
            if stays {
                (known.state, _) = (State::Detached, kept.push(known.access));
            }
            stays
        });
        if let Some(leaked) = leaked {
            self.detached.push((view, kept, Held::Leaked(leaked)));
        }
    }

    fn end_detached(&mut self, index: &Index) {
        if self.detached.is_empty() {
            return;
        }
        let (view, accesses, held) = self.detached.swap_remove(index.index(self.detached.len()));
        drop(held);
        for access in accesses {
            let is_it = |known: &Known| known.view == view && known.access == access && known.state == State::Detached;
            let place = self.list.iter().position(is_it).unwrap();
            self.list.swap_remove(place);
        }
    }

    fn run(&mut self, step: &Step) {
        let count = self.views.len();
        match step {
            Step::View { start, length, step } => self.view(*start, *length, *step),
            _ if count == 0 => {}
            Step::Acquire { view, writes, has_edges } => {
                let access = if *writes { Access::Write } else { Access::Read };
                self.acquire(view.index(count), access, *has_edges);
            }
            Step::Release { guard, keeps } => self.release(guard, *keeps),
            Step::Defer(guard) => self.defer(guard),
            Step::Drop(view) => self.drop_view(view.index(count)),
            Step::EndDetached(index) => self.end_detached(index),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn registry_finds_the_conflicts_and_the_streams_that_a_plain_list_finds(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World { driver: driver(), views: Vec::new(), list: Vec::new(), detached: Vec::new() };
        steps.iter().for_each(|step| world.run(step));
    }
}
