//! Having the configuration read anew.

use super::{Answer, Office, Refused};
use crate::reload::{NotReloaded, Order};

impl Office {
    pub(super) async fn renew(&self, order: Order, who: &str) -> Result<Answer, Refused> {
        let Some(daemon) = &self.daemon else {
            return Err(Refused::NeedsDaemon(
                "no daemon runs that could reload: the next start reads the files, `driftd config check` tells their \
                 mistakes"
                    .to_owned(),
            ));
        };
        match daemon.reload.ask(order, who).await {
            Some(Ok(reloaded)) => Ok(Answer::Reloaded(Box::new(reloaded))),
            Some(Err(NotReloaded::Mistakes(mistakes))) => Err(Refused::Mistakes(mistakes)),
            Some(Err(failed @ NotReloaded::Failed(_))) => Err(Refused::Conflict(failed.to_string())),
            Some(Err(NotReloaded::NotReleased(why))) => Err(Refused::Conflict(why)),
            Some(Err(NotReloaded::NotHeld(why))) => Err(Refused::NotFound(why)),
            None => Err(Refused::NeedsDaemon("the daemon is stopping".to_owned())),
        }
    }
}
