//! `completions` and `man`: generated from the one definition of the command line.

use clap::CommandFactory as _;

use super::exit::Exit;
use super::{Cli, page};

mod manual;

pub(super) use manual::page as manual_page;

/// Writes the completions of a shell.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "driftd", &mut script);
    page::write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// Writes the man page.
///
/// # Errors
/// When it cannot be made, or standard output cannot be written to.
pub(super) fn man() -> anyhow::Result<Exit> {
    page::write(&manual_page()?)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_gets_completions_that_know_the_verbs() {
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "driftd", &mut script);
            let script = String::from_utf8(script).unwrap();
            for verb in ["scan", "targets", "why", "accept"] {
                assert!(script.contains(verb), "{shell}: {verb}");
            }
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// `DRIFTD_UPDATE=1 cargo test --lib completions` writes it anew.
    #[test]
    fn the_man_page_that_is_shipped_is_the_one_of_this_command_line() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/man/driftd.1");
        let page = manual_page().unwrap();
        if std::env::var_os("DRIFTD_UPDATE").is_some() {
            std::fs::write(file, &page).unwrap();
        }
        let shipped = std::fs::read_to_string(file).unwrap_or_default();
        assert!(shipped == page, "man/driftd.1 is not current: DRIFTD_UPDATE=1 cargo test --lib completions");
    }
}
