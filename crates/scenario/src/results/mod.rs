//! Tables of results from a world that has run.

pub(crate) mod account;
pub(crate) mod collect;
pub(crate) mod columns;
pub(crate) mod path_table;
pub(crate) mod visits;
