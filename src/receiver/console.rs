//! Standard output of the daemon: the one place besides `cli` that prints.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::error::{DeliveryError, Reason};
use super::message::{self, Colour};
use crate::model::notice::Message;

/// A pipe that nobody reads must not hold up the outbox.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Where the console is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Console {
    /// Standard output.
    #[default]
    Out,
    /// Standard error, where standard output is a document's.
    Error,
}

impl Console {
    /// In words.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Out => "standard output",
            Self::Error => "standard error",
        }
    }
}

/// Prints `message` in one write, so that no log line of another task stands in it, with an empty line on either side:
/// on a terminal the log's lines are its neighbours.
pub(super) async fn send(message: &Message, console: Console) -> Result<(), DeliveryError> {
    let printed = async {
        match console {
            Console::Out => print(&mut tokio::io::stdout(), &apart(message, colour())).await,
            Console::Error => print(&mut tokio::io::stderr(), &apart(message, Colour::Never)).await,
        }
    };
    tokio::time::timeout(TIMEOUT, printed).await.unwrap_or(Err(DeliveryError::transient(Reason::Timeout)))
}

fn apart(message: &Message, colour: Colour) -> String {
    format!("\n{}\n\n", message::console(&message.body, colour).trim_matches('\n'))
}

/// Colour on terminals, unless `NO_COLOR` is set to anything.
fn colour() -> Colour {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !unwanted { Colour::Ansi } else { Colour::Never }
}

async fn print(out: &mut (impl AsyncWrite + Unpin), text: &str) -> Result<(), DeliveryError> {
    let written = async {
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    };
    written.await.map_err(|_| DeliveryError::transient(Reason::Output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_text_arrives_whole() {
        let mut out = Vec::new();
        print(&mut out, "HIGH everything\nmore\n").await.unwrap();
        assert_eq!(out, b"HIGH everything\nmore\n");
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_is_a_failed_try() {
        let (mut out, reader) = tokio::io::duplex(8);
        drop(reader);
        assert_eq!(print(&mut out, "text").await, Err(DeliveryError::transient(Reason::Output)));
    }
}
