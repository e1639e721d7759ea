//! The store: typed methods over SQLite; every change of a scan is one transaction.
