//! Whether it was we who could not: a process without descriptors, or a machine without memory for a socket, learns
//! nothing of a peer, and must not say that the peer is unreachable.

use std::error::Error;
use std::io;

use nix::errno::Errno;

/// What the system says when a limit of ours, or of this machine, keeps a socket or file from being opened.
const OURS: [Errno; 4] = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM];

/// Whether a descriptor can be had at this moment.
#[must_use]
pub fn descriptors_left() -> bool {
    // Any file will do that is always there; it is closed at once.
    std::fs::File::open("/dev/null").map_or_else(|error| !is_ours(&error), |_| true)
}

/// Whether an error comes down to a limit of ours.
pub(super) fn comes_of_it(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
            if is_ours(error) || inner.is_some_and(comes_of_it) {
                return true;
            }
        }
        next = error.source();
    }
    false
}

fn is_ours(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| OURS.iter().any(|ours| *ours as i32 == code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_ours_is_found_however_deep_it_stands() {
        let full = || io::Error::from_raw_os_error(Errno::EMFILE as i32);
        assert!(comes_of_it(&full()));
        assert!(comes_of_it(&io::Error::other(full())));
        assert!(comes_of_it(&io::Error::other(io::Error::other(full()))));
        assert!(!comes_of_it(&io::Error::from_raw_os_error(Errno::ECONNREFUSED as i32)));
        assert!(!comes_of_it(&io::Error::other("too many open files")), "no text is read");
        assert!(descriptors_left());
    }
}
