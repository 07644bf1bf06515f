//! A program with the debug endpoints: run it and open <http://127.0.0.1:8000/debug/pprof/>.

use std::{thread, time::Duration};

use debug_pprof::{CountingAlloc, Error, Jemalloc, Options};

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

fn main() -> Result<(), Error> {
    let server = debug_pprof::serve(Options { addr: ([127, 0, 0, 1], 8000).into(), allow_remote: false })?;
    debug_pprof::set_ready(true); // Until then, `/healthz` answers 503.
    println!("go tool pprof http://{}/debug/pprof/allocs", server.local_addr());
    loop {
        // Work to look at: a megabyte of strings ten times a second.
        let words: Vec<String> = (0..20_000).map(|n| format!("{n:050}")).collect();
        drop(words);
        thread::sleep(Duration::from_millis(100));
    }
}
