//! Ports that nobody else takes while a test gives them to another process, closes them or opens them again.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range that the system hands out by itself (from 32768), so that no connection takes one by chance.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A free port on 127.0.0.1, given out once in this process. Processes side by side begin at different places.
pub(crate) fn free_port() -> u16 {
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + offset).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free from {FIRST} on");
}
