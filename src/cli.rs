//! The command line: arguments, human and JSON output, exit codes.
