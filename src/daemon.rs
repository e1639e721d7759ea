//! Builds all parts from configuration and starts them.
