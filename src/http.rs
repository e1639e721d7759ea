//! `metrics_listen`: health, readiness, metrics; nothing that changes anything.
