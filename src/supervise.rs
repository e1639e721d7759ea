//! The tasks: names, first failure stops all, ordered stop.
