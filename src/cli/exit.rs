//! Exit codes (design, section 6): 0 fine, 1 drift or findings, 2 usage or configuration, 3 no verdict. 1 beats 3.
//!
//! `run` has two more: 4 when a part of the daemon broke or did not start, which a restart may mend (2 is for what it
//! will not, as a damaged store or one of a newer driftd: the unit does not try), and 128 + the signal when a second signal ended it at once.

use std::process::ExitCode;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to say.
    Fine,
    /// Drift or findings at or above `--fail-on`.
    Found,
    /// Usage or configuration.
    Usage,
    /// The endpoint gave no verdict, or a watched facet was unseen.
    NoVerdict,
    /// The daemon broke, or did not start.
    Broken,
    /// A second SIGINT ended the daemon at once.
    Interrupted,
    /// A second SIGTERM did.
    Terminated,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::NoVerdict => 3,
            Exit::Broken => 4,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        })
    }
}
