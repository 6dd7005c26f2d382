/* Tells the thread sanitizer of the order that the standard library's locks establish. The library is compiled without the sanitizer.
 * `cc.sh` puts these functions in place of the library's, which they call. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);

/* std::sys::sync::mutex::futex::Mutex::lock_contended(&self) */
void std_lock_contended(void *mutex);
void tsan_lock_contended(void *mutex) {
    std_lock_contended(mutex);
    __tsan_acquire(mutex);
}

/* std::sys::sync::once::futex::Once::call(&self, bool, &mut dyn FnMut, &Location) */
void std_once_call(void *once, _Bool ignores_poison, void *function, void *vtable, void *location);
void tsan_once_call(void *once, _Bool ignores_poison, void *function, void *vtable, void *location) {
    std_once_call(once, ignores_poison, function, vtable, location);
    __tsan_acquire(once);
}

/* std::thread::scoped::ScopeData::decrement_num_running_threads(&self, bool). The order of the fields is unknown, so each word is
 * released. */
void std_thread_ends(char *scope, _Bool panicked);
void tsan_thread_ends(char *scope, _Bool panicked) {
    for (int offset = 0; offset < 24; offset += 8)
        __tsan_release(scope + offset);
    std_thread_ends(scope, panicked);
}
