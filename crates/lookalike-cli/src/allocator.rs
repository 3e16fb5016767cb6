//! Memory in large pages: a run touches much new memory, and every page of it costs a fault.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by the allocator when the program starts; systems without large pages pass over it.
#[allow(unsafe_code)] // Nobody else has a symbol of this name.
#[unsafe(export_name = "_rjem_malloc_conf")]
static SETTINGS: Settings = Settings(c"thp:always,metadata_thp:auto".as_ptr());

/// A C string that never changes.
#[repr(transparent)]
struct Settings(*const std::ffi::c_char);

// SAFETY: what it points to is constant.
#[allow(unsafe_code)]
unsafe impl Sync for Settings {}
