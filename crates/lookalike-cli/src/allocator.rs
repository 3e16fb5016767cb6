//! Memory that one stage gives back and the next one takes: fresh pages are dear, above all on virtual machines, where each may
//! cost a fault of the host too.

/// Tells the system's allocator to hold on to what is given back, where it can be told.
pub(crate) fn keep_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::keep_pages();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    /// Blocks of less than this come out of memory that was given back before; larger ones are always fresh, and go back to the
    /// system at once. By itself, the allocator would return all but the smallest buffers, and fault their pages in again.
    const FRESH: i32 = 4 << 20;
    /// So much may lie free at the end of the heap.
    const FREE: i32 = 16 << 20;

    #[allow(unsafe_code)]
    pub(super) fn keep_pages() {
        let processors = std::thread::available_parallelism().map_or(1, |threads| threads.get() as i32);
        // SAFETY: these calls change nothing but settings of the allocator, before there is a second thread.
        unsafe {
            // One arena for each processor instead of eight: what threads of an earlier stage gave back is found by those of
            // the next.
            libc::mallopt(libc::M_ARENA_MAX, processors);
            libc::mallopt(libc::M_MMAP_THRESHOLD, FRESH);
            libc::mallopt(libc::M_TRIM_THRESHOLD, FREE);
        }
    }
}
