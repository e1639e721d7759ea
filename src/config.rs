//! Configuration: two YAML files, whole and valid by construction.
