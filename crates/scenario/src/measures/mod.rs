//! Measurements of flows, and tables of values.

pub(crate) mod counts;
pub(crate) mod limits;
pub(crate) mod measure;
pub(crate) mod series;
pub(crate) mod table;
pub(crate) mod values;
