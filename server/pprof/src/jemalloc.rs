//! What is asked of jemalloc itself, through its `mallctl` (<https://jemalloc.net/jemalloc.3.html>).

use std::{
    ffi::{CStr, c_char, c_void},
    mem::{MaybeUninit, size_of},
    ptr,
};

use tikv_jemalloc_sys as ffi;

/// jemalloc's own error number for a name or an access it doesn't allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// jemalloc's options, exported under the only symbol that its prefixed build reads, `_rjem_malloc_conf`; the environment
/// variable `_RJEM_MALLOC_CONF` overrides them.
///
/// ```
/// debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:19,prof_accum:true,prof_unbias:false");
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! jemalloc_conf {
    ($options:expr) => {
        #[doc(hidden)]
        #[unsafe(export_name = "_rjem_malloc_conf")]
        #[used]
        pub static JEMALLOC_CONF: $crate::JemallocConf = $crate::JemallocConf::new($options);
    };
}

/// A C string as C's `const char *` variable; made by [`jemalloc_conf!`].
#[doc(hidden)]
#[repr(transparent)]
pub struct JemallocConf(*const c_char);

// SAFETY: points to a constant string.
unsafe impl Sync for JemallocConf {}

impl JemallocConf {
    #[doc(hidden)]
    pub const fn new(options: &'static CStr) -> Self {
        JemallocConf(options.as_ptr())
    }
}

/// Reads a value of a plain number, boolean or pointer type.
///
/// # Safety
/// `T` must be the type that the manual gives for `name`, and any bit pattern jemalloc writes must be valid for it.
unsafe fn read<T>(name: &CStr) -> Result<T, Errno> {
    let mut value = MaybeUninit::<T>::uninit();
    let mut size = size_of::<T>();
    // SAFETY: jemalloc writes at most `size` bytes to `value`, and reads the NUL-ended name.
    let error =
        unsafe { ffi::mallctl(name.as_ptr(), value.as_mut_ptr().cast::<c_void>(), &mut size, ptr::null_mut(), 0) };
    match error {
        0 if size == size_of::<T>() => {
            // SAFETY: jemalloc has written the whole value.
            Ok(unsafe { value.assume_init() })
        }
        0 => Err(Errno(libc::EINVAL)),
        error => Err(Errno(error)),
    }
}

/// Writes a value.
///
/// # Safety
/// `T` must be the type that the manual gives for `name`, and the write must be sound at any time.
unsafe fn write<T>(name: &CStr, mut value: T) -> Result<(), Errno> {
    // SAFETY: jemalloc reads `size_of::<T>()` bytes of `value`.
    let error = unsafe {
        ffi::mallctl(name.as_ptr(), ptr::null_mut(), ptr::null_mut(), (&raw mut value).cast::<c_void>(), size_of::<T>())
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// Where jemalloc counts the usable bytes the calling thread has allocated, ever. Valid as long as the thread.
pub(crate) fn thread_allocated() -> Option<*const u64> {
    // SAFETY: thread.allocatedp is a `uint64_t *`.
    unsafe { read::<*const u64>(c"thread.allocatedp") }.ok().filter(|total| !total.is_null())
}

/// The usable size of a block.
///
/// # Safety
/// `ptr` must be a live block of jemalloc's.
pub(crate) unsafe fn usable_size(ptr: *mut u8) -> usize {
    // SAFETY: the caller's contract.
    unsafe { ffi::malloc_usable_size(ptr.cast()) }
}

/// A counter of type `size_t`, such as `stats.allocated`.
pub(crate) fn size(name: &CStr) -> Option<u64> {
    // SAFETY: only names of size_t counters are asked for, see the callers; size_t has no invalid patterns.
    unsafe { read::<usize>(name) }.ok().map(|value| value as u64)
}

/// A number of type `unsigned`, such as `arenas.narenas`.
pub(crate) fn number(name: &CStr) -> Option<u32> {
    // SAFETY: only names of unsigned values are asked for, see the callers.
    unsafe { read::<u32>(name) }.ok()
}

/// A switch, such as `opt.prof`.
pub(crate) fn switch(name: &CStr) -> Option<bool> {
    // SAFETY: read as a byte, which has no invalid patterns; C's bool is one byte.
    unsafe { read::<u8>(name) }.ok().map(|value| value != 0)
}

/// Brings the numbers that jemalloc caches (`stats.*`) up to date.
pub(crate) fn refresh() {
    // SAFETY: epoch is a uint64_t and may be written at any time. Without stats it fails, and there is nothing to refresh.
    let _ = unsafe { write(c"epoch", 1u64) };
}

/// Writes jemalloc's heap profile to a file.
pub(crate) fn dump_heap_profile(path: &CStr) -> Result<(), Errno> {
    // SAFETY: prof.dump takes a `const char *` and only reads it.
    unsafe { write(c"prof.dump", path.as_ptr()) }
}

/// `malloc_stats_print`: text, or JSON.
pub(crate) fn stats_text(json: bool) -> String {
    extern "C" fn append(text: *mut c_void, part: *const c_char) {
        // SAFETY: `text` is the Vec handed over below, `part` a NUL-ended string of jemalloc's.
        unsafe { (*text.cast::<Vec<u8>>()).extend_from_slice(CStr::from_ptr(part).to_bytes()) }
    }
    let mut text = Vec::<u8>::with_capacity(64 * 1024);
    let options = if json { c"J" } else { c"" };
    // SAFETY: the callback gets our Vec and is only called before this returns.
    unsafe { ffi::malloc_stats_print(Some(append), (&raw mut text).cast(), options.as_ptr()) };
    String::from_utf8_lossy(&text).into_owned()
}

/// Switches jemalloc's own heap profiler on or off; false when it isn't built in or not enabled (`prof:true`).
///
/// What is allocated while it is off is missing from `/debug/pprof/heap` for good.
pub fn set_heap_profiling(on: bool) -> bool {
    // SAFETY: prof.active is a bool and may be written at any time.
    unsafe { write(c"prof.active", on) }.is_ok()
}
