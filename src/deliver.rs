//! The outbox loop: fold due notices, send due messages, back off, give up loudly.
