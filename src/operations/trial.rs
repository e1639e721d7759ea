//! A message sent by hand, to see whether a receiver works.

use jiff::Timestamp;

use super::document::Trial;
use super::{Answer, Office, Refused};
use crate::model::alert::AlertType;
use crate::model::bulletin::Bulletin;
use crate::model::rule::{Impact, Severity};
use crate::receiver::Receivers;

impl Office {
    /// Tries a receiver; one that works is not left alone any longer, and what waits for it goes out.
    pub(super) async fn receiver_test(&self, name: &str) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let trial = receiver(&self.receivers.get(), name, now).await?;
        if trial.error.is_none() {
            self.store.hasten(name, now).await?;
            if let Some(daemon) = &self.daemon {
                daemon.wake_delivery.notify_one();
            }
        }
        Ok(Answer::Tried(trial))
    }
}

/// Sends a test message to the receiver called `name`, past the outbox: at once, once, and kept nowhere.
///
/// # Errors
/// When no receiver has that name.
pub async fn receiver(receivers: &Receivers, name: &str, now: Timestamp) -> Result<Trial, Refused> {
    let message = bulletin(name, now).message(name, now);
    let Some(tried) = receivers.test(&message, now).await else {
        return Err(Refused::NotFound(unknown(name, receivers)));
    };
    let error = tried.outcome.err();
    Ok(Trial {
        receiver: name.to_owned(),
        message: message.id,
        steps: tried.steps,
        reason: error.map(|error| error.reason().to_string()),
        advice: error.map(|error| error.reason().advice().to_owned()),
        error: error.map(|error| error.to_string()),
    })
}

fn unknown(name: &str, receivers: &Receivers) -> String {
    let known: Vec<&str> = receivers.names().collect();
    if known.is_empty() {
        return format!("no receiver is called {name:?}: driftd.yaml names none under `receivers`");
    }
    format!("no receiver is called {name:?}; driftd.yaml has {}", known.join(", "))
}

fn bulletin(receiver: &str, now: Timestamp) -> Bulletin {
    Bulletin {
        kind: AlertType::Test,
        key: format!("test {receiver} {}", now.as_nanosecond()),
        severity: Severity::Info,
        impact: vec![Impact::Operational],
        headline: "test: messages of driftd arrive here".to_owned(),
        summary: vec![format!(
            "Somebody ran `driftd receiver test {receiver}`. Nothing has drifted, and nothing is to be decided."
        )],
        sections: Vec::new(),
        targets: Vec::new(),
    }
}
