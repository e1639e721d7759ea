//! One line on standard error while something takes long, and only where somebody looks at it.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use crate::model::text;

/// From one picture to the next.
const STEP: Duration = Duration::from_millis(120);
/// What is done sooner shows nothing.
const PATIENCE: usize = 3;
const PICTURES: [char; 4] = ['|', '/', '-', '\\'];

/// Waits for `work` and shows `what` is being done.
pub(super) async fn shown<T>(what: &str, work: impl Future<Output = T>) -> T {
    let unwanted = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !std::io::stderr().is_terminal() || unwanted {
        return work.await;
    }
    let what = text::inert(what, 60);
    let mut work = std::pin::pin!(work);
    let mut ticks = tokio::time::interval(STEP);
    let mut steps = 0_usize;
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = ticks.tick() => {
                steps += 1;
                if steps > PATIENCE {
                    let picture = PICTURES.get(steps % PICTURES.len()).copied().unwrap_or('|');
                    draw(&format!("\r{picture} {what} "));
                }
            }
        }
    };
    if steps > PATIENCE {
        draw("\r\u{1b}[K");
    }
    done
}

/// A terminal that went away is no fault.
fn draw(line: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
