//! The event pool under every interleaving of a few threads: events are never shared, lost, or created in excess.

/// The lock that the pool uses.
mod sync {
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
#[path = "../src/driver/idle_events.rs"]
mod idle_events;

use idle_events::{CAPACITY, IdleEvents};
use loom::{
    model,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

fn with(idle: usize) -> IdleEvents<usize> {
    let pool = IdleEvents::default();
    (0..idle).for_each(|event| pool.put(event).unwrap());
    pool
}

/// Takes an event, or creates one as the pool does when empty; uses it and puts it back.
fn use_one(pool: &IdleEvents<usize>, in_use: &[AtomicBool], made: &AtomicUsize) {
    let event = pool.take().unwrap_or_else(|| made.fetch_add(1, SeqCst));
    assert!(!in_use[event].swap(true, SeqCst), "two threads hold one event");
    in_use[event].store(false, SeqCst);
    pool.put(event).unwrap();
}

#[test]
fn event_is_held_by_one_thread_at_a_time() {
    for idle in [0, 1] {
        model(move || {
            let pool = Arc::new(with(idle));
            let in_use: Arc<[AtomicBool; 3]> = Arc::new(std::array::from_fn(|_| AtomicBool::new(false)));
            let made = Arc::new(AtomicUsize::new(idle));
            let other = {
                let (pool, in_use, made) = (pool.clone(), in_use.clone(), made.clone());
                thread::spawn(move || use_one(&pool, &*in_use, &made))
            };
            use_one(&pool, &*in_use, &made);
            use_one(&pool, &*in_use, &made);
            other.join().unwrap();
            assert!((1..=2).contains(&made.load(SeqCst)), "two threads need at most two events");
            let mut events = pool.drain();
            events.sort_unstable();
            assert_eq!(events, (0..made.load(SeqCst)).collect::<Vec<_>>(), "no event is lost or duplicated");
            assert_eq!(pool.len(), 0);
        });
    }
}

#[test]
fn event_returned_to_a_full_pool_stays_with_the_caller() {
    model(|| {
        let pool = Arc::new(with(CAPACITY - 1));
        let refused = Arc::new(AtomicUsize::new(0));
        let others: Vec<_> = (0..2)
            .map(|number| {
                let (pool, refused) = (pool.clone(), refused.clone());
                thread::spawn(move || {
                    if let Err(event) = pool.put(CAPACITY + number) {
                        assert_eq!(event, CAPACITY + number);
                        refused.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!((pool.len(), refused.load(SeqCst)), (CAPACITY, 1));
    });
}
