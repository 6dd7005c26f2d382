//! The list of deferred releases under every interleaving of a few threads: no release is lost, or taken twice or by another driver.

/// The lock and the flag that the list uses.
mod sync {
    pub use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};

    pub struct Lock<T>(loom::sync::Mutex<T>);

    impl<T> Lock<T> {
        pub fn new(value: T) -> Lock<T> {
            Lock(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}
#[path = "../src/driver/deferred_list.rs"]
mod deferred_list;

use deferred_list::DeferredList;
use loom::{model, sync::Arc, thread};

/// The releases that threads defer and take at the same time, and then those that are left for a driver.
fn taken(threads: [(usize, &'static [usize]); 2], last: usize) -> (Vec<usize>, Vec<usize>) {
    let list = Arc::new(DeferredList::default());
    let run = |(driver, releases): (usize, &'static [usize])| {
        let list = list.clone();
        thread::spawn(move || {
            let mut taken = Vec::new();
            for release in releases {
                list.add(driver, *release);
                taken.extend(list.take(&driver, 1));
            }
            taken
        })
    };
    let mut during = Vec::new();
    for thread in threads.map(run) {
        during.extend(thread.join().unwrap());
    }
    (during, list.take(&last, usize::MAX))
}

#[test]
fn release_is_taken_once() {
    model(|| {
        let (mut all, left) = taken([(0, &[1, 2]), (0, &[3])], 0);
        assert_eq!(left, [0; 0], "the threads have taken all releases");
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn drivers_take_their_own_releases_only() {
    model(|| {
        let (mut all, left) = taken([(0, &[1]), (1, &[2, 3])], 1);
        assert_eq!(left, [0; 0]);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3], "a driver always finds its own releases");
    });
}

#[test]
fn release_added_during_a_take_is_found_by_the_next_take() {
    model(|| {
        let list = Arc::new(DeferredList::default());
        list.add(0, 1);
        let adding = {
            let list = list.clone();
            thread::spawn(move || list.add(0, 2))
        };
        let mut all = list.take(&0, usize::MAX);
        adding.join().unwrap();
        all.extend(list.take(&0, usize::MAX));
        assert_eq!(all, [1, 2]);
    });
}
