//! From a world that has run to tables.

pub(crate) mod account;
pub(crate) mod collect;
pub(crate) mod columns;
pub(crate) mod path_table;
pub(crate) mod visits;
