//! The event pool under every interleaving of a few threads: no event is in two hands, none is lost, none is too many.

/// What the pool is locked with.
mod sync {
    pub use loom::sync::Mutex;
    pub use std::sync::PoisonError;
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

/// Takes an event, or makes one as the pool does when it is empty, uses it, and puts it back.
fn use_one(pool: &IdleEvents<usize>, in_use: &[AtomicBool], made: &AtomicUsize) {
    let event = pool.take().unwrap_or_else(|| made.fetch_add(1, SeqCst));
    assert!(!in_use[event].swap(true, SeqCst), "an event is in two hands");
    in_use[event].store(false, SeqCst);
    pool.put(event).unwrap();
}

#[test]
fn an_event_is_in_one_hand_at_a_time() {
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
            assert!((1..=2).contains(&made.load(SeqCst)), "two threads need two at most");
            let mut events = pool.drain();
            events.sort_unstable();
            assert_eq!(events, (0..made.load(SeqCst)).collect::<Vec<_>>(), "none is lost, and none is there twice");
            assert_eq!(pool.len(), 0);
        });
    }
}

#[test]
fn what_finds_no_room_stays_the_callers() {
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
