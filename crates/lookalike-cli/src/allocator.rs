//! Memory that one stage gives back and the next one takes: fresh pages are dear, above all on virtual machines, where each may
//! cost a fault of the host too.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by the allocator when the program starts. One arena for each processor instead of four: what threads of an earlier stage
/// gave back is found by those of the next. What nobody takes goes back to the system after a second instead of ten, as
/// `--memory` counts it until then.
#[allow(unsafe_code)] // Nobody else has a symbol of this name.
#[unsafe(export_name = "_rjem_malloc_conf")]
static SETTINGS: Settings = Settings(c"narenas_ratio:1,dirty_decay_ms:1000".as_ptr());

/// A C string that never changes.
#[repr(transparent)]
struct Settings(*const std::ffi::c_char);

// SAFETY: what it points to is constant.
#[allow(unsafe_code)]
unsafe impl Sync for Settings {}
