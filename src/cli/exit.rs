//! Exit codes (design, section 6): 0 fine, 1 drift or findings, 2 usage or configuration, 3 no verdict. 1 beats 3.

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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::NoVerdict => 3,
        })
    }
}
