//! Runs a server under load and reads what it counted: rounds without a profiler, passes with one.

pub mod allocation_log;
mod cpus;
mod debug;
mod environment;
mod gateway;
mod log_pass;
mod own;
mod passes;
mod process;
pub mod result;
mod round;
mod server;
mod source;
mod syscalls;

pub use self::{
    cpus::{CpuSplit, bind_to, bound_cpus, cpu_list, cpus_of, shared_cpus, split_cpus},
    debug::{DebugClient, DebugError},
    environment::{Build, describe_machine},
    gateway::{gateway_processes, listens_in_group, process_name},
    log_pass::{LogLoad, log_pass},
    own::own_reading,
    passes::{AllocsPass, AllocsRecord, PassError, allocs_pass, cpu_pass, heap_pass, syscalls_pass},
    process::{ProcessWatch, listens, looking_at},
    round::{Target, measure_round},
    server::{ServerError, ServerProcess, ServerReady, ServerStart},
    syscalls::{SyscallCounter, SyscallsError},
};
