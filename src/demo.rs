//! `driftd demo`: a sample server that drifts, the daemon and its alerts, in one process.
