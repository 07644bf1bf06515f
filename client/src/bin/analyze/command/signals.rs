//! Ctrl-C and SIGTERM: the first ends the run in order, the second at once.

use std::process;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// What a shell reports of a program that ended of Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// Turns true at the first signal. After the second the process ends; its servers end with it, as they were told to.
pub(super) fn stop_on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stop.send_replace(true) {
                process::exit(i32::from(INTERRUPTED));
            }
        }
    });
    Ok(stopped)
}
