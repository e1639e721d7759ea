//! What happened on the way to a receiver, step by step, for whoever tries it by hand.
//!
//! Each step is a sentence of ours. Nothing a peer wrote and no secret is in it: a URL that is kept as a secret is not
//! shown, a key is named by its reference.

/// The steps so far; an ordinary delivery keeps none.
#[derive(Debug, Default)]
pub(super) struct Trail(Option<Vec<String>>);

impl Trail {
    /// Keeps steps.
    pub(super) const fn kept() -> Self {
        Self(Some(Vec::new()))
    }

    /// Keeps none.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Somebody reads the steps.
    pub(super) const fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Notes a step, if somebody reads it.
    pub(super) fn note(&mut self, step: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.0 {
            steps.push(step());
        }
    }

    /// The steps.
    pub(super) fn into_steps(self) -> Vec<String> {
        self.0.unwrap_or_default()
    }
}

/// `192.0.2.1, 2001:db8::1`, at most a few.
pub(super) fn addresses(addresses: &[std::net::SocketAddr]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = addresses.iter().take(SHOWN).map(|address| address.ip().to_string()).collect();
    let more = addresses.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
